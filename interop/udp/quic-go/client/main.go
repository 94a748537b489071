// An HTTP/3 client with quic-go: all requests at once, on one connection.
//
// Prints one JSON object: what came for every URL, and how many connections there were.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// The client changes to another socket when it has this much of a body.
const migrateAfter = 1 << 20

type result struct {
	URL          string `json:"url"`
	Status       int    `json:"status"`
	Length       int64  `json:"length"`
	SHA256       string `json:"sha256"`
	ContentRange string `json:"content_range"`
	ReprDigest   string `json:"repr_digest"`
}

type summary struct {
	Connections int      `json:"connections"`
	Version     string   `json:"version"`
	LocalPorts  []int    `json:"local_ports"`
	Responses   []result `json:"responses"`
}

func main() {
	ca := flag.String("ca", "", "certificate authority (PEM)")
	method := flag.String("method", http.MethodGet, "request method")
	byteRange := flag.String("range", "", "Range field")
	body := flag.String("body", "", "file to send")
	preferV2 := flag.Bool("prefer-v2", false, "begin with QUIC v2, go back to v1 if told so")
	trailers := flag.Bool("trailers", false, "ask for trailers")
	migrate := flag.Bool("migrate", false, "change to another UDP socket after the first MiB")
	early := flag.Bool("early", false, "come twice, the second time with 0-RTT if the ticket allows it")
	local := flag.String("local", "127.0.0.1", "address to send from")
	flag.Parse()
	c, err := newClient(*ca, *preferV2)
	if err != nil {
		log.Fatal(err)
	}
	c.trailers, c.migrate, c.local = *trailers, *migrate, net.ParseIP(*local)
	if *early {
		// The first connection is for the ticket.
		if _, err := c.all(http.MethodGet, "", "", flag.Args()[:1]); err != nil {
			log.Fatal(err)
		}
		c.begin()
		*method = http3.MethodGet0RTT
	}
	responses, err := c.all(*method, *byteRange, *body, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	summary := summary{c.connections, c.version(), c.ports, responses}
	c.http.Transport.(*http3.Transport).Close()
	if err := json.NewEncoder(os.Stdout).Encode(summary); err != nil {
		log.Fatal(err)
	}
}

type client struct {
	http        http.Client
	tlsConfig   *tls.Config
	versions    []quic.Version
	lock        sync.Mutex
	connection  *quic.Conn
	connections int
	ports       []int
	local       net.IP
	trailers    bool
	migrate     bool
	migration   sync.Once
	migrated    error
}

func newClient(ca string, preferV2 bool) (*client, error) {
	authority, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate in it", ca)
	}
	c := &client{versions: []quic.Version{quic.Version1}}
	if preferV2 {
		c.versions = []quic.Version{quic.Version2, quic.Version1}
	}
	c.tlsConfig = &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	c.begin()
	return c, nil
}

// begin closes what there is: the next request opens a connection.
func (c *client) begin() {
	if transport, ok := c.http.Transport.(*http3.Transport); ok {
		transport.Close()
	}
	c.connections, c.ports = 0, nil
	c.http = http.Client{Timeout: 60 * time.Second, Transport: &http3.Transport{
		TLSClientConfig: c.tlsConfig, Dial: c.dial,
	}}
}

func (c *client) dial(ctx context.Context, address string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	transport, err := c.newSocket()
	if err != nil {
		return nil, err
	}
	// Not in the transport's own configuration: that takes only one version.
	config = config.Clone()
	config.Versions = c.versions
	connection, err := transport.DialEarly(ctx, remote, tlsConfig, config)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.connection = connection
	c.connections++
	return connection, err
}

func (c *client) newSocket() (*quic.Transport, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: c.local})
	if err != nil {
		return nil, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.ports = append(c.ports, socket.LocalAddr().(*net.UDPAddr).Port)
	return &quic.Transport{Conn: socket}, nil
}

func (c *client) version() string {
	return c.connection.ConnectionState().Version.String()
}

// all sends a request for every URL at the same time.
func (c *client) all(method, byteRange, body string, urls []string) ([]result, error) {
	results := make([]result, len(urls))
	failures := make([]error, len(urls))
	var group sync.WaitGroup
	for i, url := range urls {
		group.Go(func() { results[i], failures[i] = c.one(method, byteRange, body, url) })
	}
	group.Wait()
	return results, errors.Join(append(failures, c.migrated)...)
}

func (c *client) one(method, byteRange, body, url string) (result, error) {
	var content io.Reader
	var length int64
	if body != "" {
		file, err := os.Open(body)
		if err != nil {
			return result{}, err
		}
		defer file.Close()
		information, err := file.Stat()
		if err != nil {
			return result{}, err
		}
		content, length = file, information.Size()
	}
	request, err := http.NewRequest(method, url, content)
	if err != nil {
		return result{}, err
	}
	request.ContentLength = length
	if c.trailers {
		request.Header.Set("TE", "trailers")
	}
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return result{}, err
	}
	defer response.Body.Close()
	return c.receive(url, response)
}

func (c *client) receive(url string, response *http.Response) (result, error) {
	digest := sha256.New()
	head, err := io.CopyN(digest, response.Body, migrateAfter)
	if err == nil && c.migrate {
		c.migration.Do(func() { c.migrated = c.move() })
	}
	rest, err := io.Copy(digest, response.Body)
	if err != nil {
		return result{}, err
	}
	reprDigest := response.Header.Get("Repr-Digest")
	if reprDigest == "" {
		reprDigest = response.Trailer.Get("Repr-Digest")
	}
	return result{
		URL: url, Status: response.StatusCode, Length: head + rest, SHA256: hexOf(digest),
		ContentRange: response.Header.Get("Content-Range"), ReprDigest: reprDigest,
	}, nil
}

func hexOf(digest hash.Hash) string {
	return hex.EncodeToString(digest.Sum(nil))
}

// move probes a path from a new socket and changes to it (RFC 9000 section 9).
func (c *client) move() error {
	transport, err := c.newSocket()
	if err != nil {
		return err
	}
	path, err := c.connection.AddPath(transport)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := path.Probe(ctx); err != nil {
		return fmt.Errorf("probing the new path: %w", err)
	}
	return path.Switch()
}
