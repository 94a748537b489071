package main
import _ "github.com/quic-go/connect-ip-go"
func main() {}
