// A folder over HTTP/3 with quic-go: GET with ranges, and PUT.
//
// Prints {"port": N} when it listens; runs until it is killed.
package main

import (
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

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	certificate := flag.String("cert", "", "certificate chain (PEM)")
	key := flag.String("key", "", "private key (PEM)")
	retry := flag.Bool("retry", false, "validate every address with Retry")
	early := flag.Bool("early", false, "take 0-RTT")
	listen := flag.String("listen", "127.0.0.1:0", "ADDRESS:PORT to listen on")
	flag.Parse()
	if err := serve(flag.Arg(0), *listen, *certificate, *key, *retry, *early); err != nil {
		log.Fatal(err)
	}
}

func serve(folder, listen, certificate, key string, retry, early bool) error {
	address, err := net.ResolveUDPAddr("udp", listen)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return retry }}
	tlsConfig := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}})
	listener, err := transport.ListenEarly(tlsConfig, &quic.Config{Allow0RTT: early})
	if err != nil {
		return err
	}
	greeting := map[string]int{"port": socket.LocalAddr().(*net.UDPAddr).Port}
	if err := json.NewEncoder(os.Stdout).Encode(greeting); err != nil {
		return err
	}
	server := http3.Server{Handler: site{folder, http.FileServer(http.Dir(folder))}}
	return server.ServeListener(listener)
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
