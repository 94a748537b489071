// Command connect-ip is one end of a CONNECT-IP tunnel (RFC 9484) as connect-ip-go has it, with a TUN device.
//
//	connect-ip client -address HOST:PORT -ca FILE -key FILE -device NAME
//	connect-ip proxy -address HOST:PORT -cert FILE -private FILE -key FILE -device NAME -assign ADDRESS
//
// Both print a line of JSON when the tunnel is there, and run until they are stopped.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	connectip "github.com/quic-go/connect-ip-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/yosida95/uritemplate/v3"
	"golang.org/x/sys/unix"
)

const mtu = 1280

func main() {
	if len(os.Args) < 2 {
		log.Fatal("client or proxy?")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	address := flags.String("address", "", "the proxy's host and port")
	ca := flags.String("ca", "", "certificate that the proxy has to show")
	cert := flags.String("cert", "", "the proxy's certificate")
	private := flags.String("private", "", "its private key")
	key := flags.String("key", "", "file with the bearer token")
	device := flags.String("device", "go0", "name of the TUN device")
	assign := flags.String("assign", "10.119.0.2", "the address that the proxy assigns")
	flags.Parse(os.Args[2:])
	token, err := os.ReadFile(*key)
	if err != nil {
		log.Fatal(err)
	}
	bearer := "Bearer " + strings.TrimSpace(string(token))
	template := uritemplate.MustNew("https://" + *address + "/.well-known/masque/ip/*/*/")
	switch os.Args[1] {
	case "client":
		err = client(template, *address, *ca, bearer, *device)
	case "proxy":
		err = proxy(template, *address, *cert, *private, bearer, *device, netip.MustParseAddr(*assign))
	default:
		err = fmt.Errorf("%s is neither client nor proxy", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func client(template *uritemplate.Template, address, ca, bearer, device string) error {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	ctx := context.Background()
	config := &tls.Config{RootCAs: roots, NextProtos: []string{http3.NextProtoH3}, ServerName: "gateway.example"}
	conn, err := quic.DialAddr(ctx, address, config, &quic.Config{EnableDatagrams: true, KeepAlivePeriod: 10 * time.Second})
	if err != nil {
		return err
	}
	transport := &http3.Transport{EnableDatagrams: true}
	request, err := connectip.NewRequest(ctx, template)
	if err != nil {
		return err
	}
	request.Header().Set("Proxy-Authorization", bearer)
	tunnel, response, err := connectip.NewClientConn(transport.NewClientConn(conn)).Dial(request)
	if err != nil {
		return err
	}
	if _, err := tunnel.RequestAddresses([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")}); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	assigned, err := tunnel.ReceiveAddressAssignment(limited)
	if err != nil {
		return err
	}
	routes, err := tunnel.Routes(limited)
	if err != nil {
		return err
	}
	var own netip.Addr
	for _, entry := range assigned {
		if entry.IPPrefix.Addr().Is4() && !entry.Rejected() {
			own = entry.IPPrefix.Addr()
		}
	}
	tun, err := open(device, own)
	if err != nil {
		return err
	}
	if err := ip("route", "add", "default", "dev", device, "table", "77", "src", own.String()); err != nil {
		return err
	}
	report(map[string]any{"status": response.StatusCode, "address": own.String(), "routes": len(routes)})
	return carry(tunnel, tun)
}

func proxy(template *uritemplate.Template, address, cert, private, bearer, device string, assigned netip.Addr) error {
	pair, err := tls.LoadX509KeyPair(cert, private)
	if err != nil {
		return err
	}
	tun, err := open(device, assigned.Prev())
	if err != nil {
		return err
	}
	if err := ip("route", "add", assigned.String()+"/32", "dev", device); err != nil {
		return err
	}
	handler := http.NewServeMux()
	handler.HandleFunc("/.well-known/masque/ip/*/*/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != bearer {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		parsed, err := connectip.ParseProxyRequest(r, template)
		if err != nil {
			log.Print(err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		tunnel, err := (&connectip.Proxy{}).Proxy(w, parsed)
		if err != nil {
			log.Print(err)
			return
		}
		everything := []connectip.IPRoute{{StartIP: netip.IPv4Unspecified(), EndIP: netip.MustParseAddr("255.255.255.255")}}
		if err := tunnel.AssignAddresses([]netip.Prefix{netip.PrefixFrom(assigned, 32)}); err != nil {
			log.Print(err)
			return
		}
		if err := tunnel.AdvertiseRoute(everything); err != nil {
			log.Print(err)
			return
		}
		go answer(tunnel, assigned)
		if err := carry(tunnel, tun); err != nil {
			log.Print(err)
		}
	})
	server := &http3.Server{
		Addr:            address,
		Handler:         handler,
		EnableDatagrams: true,
		TLSConfig:       http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		QUICConfig:      &quic.Config{EnableDatagrams: true},
	}
	report(map[string]any{"listening": address})
	return server.ListenAndServe()
}

// answer gives whoever asks for addresses the same one again.
func answer(tunnel *connectip.Conn, assigned netip.Addr) {
	for {
		request, err := tunnel.ReceiveAddressRequest(context.Background())
		if err != nil {
			return
		}
		prefixes := make([]netip.Prefix, 0, 2)
		for _, wanted := range request.Prefixes {
			if wanted.Addr().Is4() {
				prefixes = append(prefixes, netip.PrefixFrom(assigned, 32))
			} else {
				prefixes = append(prefixes, netip.Prefix{})
			}
		}
		if err := request.Respond(prefixes, nil); err != nil {
			log.Print(err)
		}
	}
}

// carry moves packets between a tunnel and a device until one of them ends.
func carry(tunnel *connectip.Conn, tun *os.File) error {
	ended := make(chan error, 2)
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, err := tunnel.ReadPacket(buffer)
			if err != nil {
				ended <- err
				return
			}
			if _, err := tun.Write(buffer[:n]); err != nil {
				log.Printf("the device: %v", err)
			}
		}
	}()
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, err := tun.Read(buffer)
			if err != nil {
				ended <- err
				return
			}
			icmp, err := tunnel.WritePacket(buffer[:n])
			if err != nil {
				ended <- err
				return
			}
			if len(icmp) > 0 {
				tun.Write(icmp)
			}
		}
	}()
	return <-ended
}

// open makes a TUN device with this address.
func open(name string, address netip.Addr) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, err
	}
	for _, arguments := range [][]string{
		{"address", "add", address.String() + "/32", "dev", name},
		{"link", "set", name, "mtu", fmt.Sprint(mtu), "up"},
	} {
		if err := ip(arguments...); err != nil {
			return nil, err
		}
	}
	return os.NewFile(uintptr(fd), "tun"), nil
}

func ip(arguments ...string) error {
	if output, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %s", strings.Join(arguments, " "), output)
	}
	return nil
}

func report(values map[string]any) {
	json.NewEncoder(os.Stdout).Encode(values)
}
