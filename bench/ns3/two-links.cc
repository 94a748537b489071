// The scenario of `bench sim speed` for ns-3: a bulk download over two links of 100 Mbit/s and 10 ms, as two TCP
// connections, for ns-3 has no multipath transport that is maintained.
//
//   two-links [SECONDS]
//
// Prints one JSON object: packets that a device received, events, goodput, and the time it took on the wall and in CPU.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>

using namespace ns3;

static uint64_t g_packets = 0;

static void
Received(Ptr<const Packet>)
{
    ++g_packets;
}

int
main(int argc, char* argv[])
{
    double seconds = argc > 1 ? std::atof(argv[1]) : 60.0;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

    NodeContainer hosts;
    hosts.Create(2);
    InternetStackHelper().Install(hosts);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("167p"));

    Ptr<PacketSink> sinks[2];
    for (uint16_t index = 0; index < 2; ++index)
    {
        NetDeviceContainer devices = link.Install(hosts);
        for (uint32_t end = 0; end < 2; ++end)
        {
            devices.Get(end)->TraceConnectWithoutContext("MacRx", MakeCallback(&Received));
        }
        Ipv4AddressHelper addresses;
        addresses.SetBase(index == 0 ? "10.0.1.0" : "10.0.2.0", "255.255.255.0");
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        uint16_t port = 5000 + index;
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
        source.SetAttribute("SendSize", UintegerValue(64 << 10));
        source.Install(hosts.Get(0)).Start(Seconds(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks[index] = DynamicCast<PacketSink>(sink.Install(hosts.Get(1)).Get(0));
    }

    Simulator::Stop(Seconds(seconds));
    auto wall = std::chrono::steady_clock::now();
    std::clock_t cpu = std::clock();
    Simulator::Run();
    double cpu_seconds = double(std::clock() - cpu) / CLOCKS_PER_SEC;
    double wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
    uint64_t bytes = sinks[0]->GetTotalRx() + sinks[1]->GetTotalRx();
    std::cout << "{\"simulated_seconds\":" << seconds << ",\"packets\":" << g_packets
              << ",\"events\":" << Simulator::GetEventCount() << ",\"wall_seconds\":" << wall_seconds
              << ",\"cpu_seconds\":" << cpu_seconds << ",\"goodput_bps\":" << bytes * 8 / seconds << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
