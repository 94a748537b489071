// A folder over HTTP/3 with quic-go: GET with ranges, and PUT; or over HTTP/0.9.
//
// Prints {"port": N} when it listens; runs until it is killed.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	certificate := flag.String("cert", "", "certificate chain (PEM)")
	key := flag.String("key", "", "private key (PEM)")
	retry := flag.Bool("retry", false, "validate every address with Retry")
	early := flag.Bool("early", false, "take 0-RTT")
	hq := flag.Bool("hq", false, "HTTP/0.9 (hq-interop) in place of HTTP/3")
	listen := flag.String("listen", "127.0.0.1:0", "ADDRESS:PORT to listen on")
	flag.Parse()
	tlsConfig, err := identity(*certificate, *key)
	if err != nil {
		log.Fatal(err)
	}
	if *hq {
		tlsConfig.NextProtos = []string{"hq-interop"}
	} else {
		tlsConfig = http3.ConfigureTLSConfig(tlsConfig)
	}
	listener, err := announce(*listen, tlsConfig, *retry, *early)
	if err != nil {
		log.Fatal(err)
	}
	if *hq {
		log.Fatal(serveFiles(listener, flag.Arg(0)))
	}
	server := http3.Server{Handler: site{flag.Arg(0), http.FileServer(http.Dir(flag.Arg(0)))}}
	log.Fatal(server.ServeListener(listener))
}

func identity(certificate, key string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	return &tls.Config{Certificates: []tls.Certificate{pair}}, err
}

// announce listens, and says where.
func announce(listen string, tlsConfig *tls.Config, retry, early bool) (*quic.EarlyListener, error) {
	address, err := net.ResolveUDPAddr("udp", listen)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return retry }}
	config := &quic.Config{Allow0RTT: early}
	listener, err := transport.ListenEarly(tlsConfig, config)
	if err != nil {
		return nil, err
	}
	greeting := map[string]int{"port": socket.LocalAddr().(*net.UDPAddr).Port}
	return listener, json.NewEncoder(os.Stdout).Encode(greeting)
}

type site struct {
	folder string
	files  http.Handler
}

func (s site) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	fmt.Fprintln(os.Stderr, request.RemoteAddr, request.Method, request.URL.Path, request.Header.Get("Range"))
	if request.Method != http.MethodPut {
		s.files.ServeHTTP(response, request)
		return
	}
	if err := store(filepath.Join(s.folder, filepath.Base(request.URL.Path)), request.Body); err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	response.WriteHeader(http.StatusCreated)
}

func store(name string, content io.Reader) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// serveFiles answers each stream with a file (HTTP/0.9).
func serveFiles(listener *quic.EarlyListener, folder string) error {
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			for {
				stream, err := connection.AcceptStream(context.Background())
				if err != nil {
					return
				}
				go answer(stream, folder)
			}
		}()
	}
}

func answer(stream *quic.Stream, folder string) {
	request, err := io.ReadAll(io.LimitReader(stream, 4096))
	if err != nil {
		return
	}
	fmt.Fprintln(os.Stderr, strings.TrimSpace(string(request)))
	path := strings.TrimSpace(strings.TrimPrefix(string(request), "GET "))
	file, err := os.Open(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		stream.CancelWrite(1)
		return
	}
	defer file.Close()
	if _, err := io.Copy(stream, file); err != nil {
		stream.CancelWrite(1)
		return
	}
	stream.Close()
}
