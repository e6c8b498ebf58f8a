// Package natstest runs real NATS servers within the process of a test, so that the test needs nothing but Go, and
// finds ports for servers of all kinds. Servers that are killed are processes of their own: see cmd/ticketrail.
package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A Server ends with its test.
type Server struct {
	t      testing.TB
	o      Options
	server *server.Server
}

// Options are the server's own.
type Options = server.Options

// Start starts a server. With a password it lets in its user relay alone. Each of configure may change its options.
func Start(t testing.TB, password string, configure ...func(*Options)) *Server {
	t.Helper()
	const most = 9 << 20 // the largest body of a relay, and its headers
	one := &Server{t: t, o: Options{Host: "127.0.0.1", Port: FreePort(), JetStream: true, StoreDir: t.TempDir(),
		SyncAlways: true, NoLog: true, NoSigs: true, MaxPayload: most}}
	if password != "" {
		one.o.Username, one.o.Password = "relay", password
	}
	for _, change := range configure {
		change(&one.o)
	}

	one.Start()
	t.Cleanup(one.Stop)
	return one
}

// Start starts it again where it was. It does not wait for other servers: see Ready.
func (s *Server) Start() {
	s.t.Helper()
	options := s.o
	started, err := server.NewServer(&options)
	if err != nil {
		s.t.Fatal(err)
	}

	started.Start()
	if !started.ReadyForConnections(time.Minute) {
		s.t.Fatal("the nats-server is not ready within a minute")
	}
	s.server = started
}

// Stop ends it. Its store stays.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// URL is where clients reach it.
func (s *Server) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.o.Port) }

// Ready reports whether JetStream works there and its streams are up to date.
func (s *Server) Ready() bool {
	answer := httptest.NewRecorder()
	s.server.HandleHealthz(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	return answer.Code == http.StatusOK
}

// FreePort finds a port below those that systems give to outgoing connections: a program must find its port free again
// after it was killed. They are so many that two callers hardly ever get the same.
func FreePort() (port int) {
	for {
		port = 10_000 + rand.IntN(22_000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
}
