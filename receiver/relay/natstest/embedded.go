package natstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// An Embedded server runs in the process of the test, alone. So the test needs nothing but Go; nodes that are killed
// are for [Cluster].
type Embedded struct {
	t      testing.TB
	o      server.Options
	server *server.Server
}

// Embed starts a server that ends with the test. With a password it lets in its user relay alone.
func Embed(t testing.TB, password string) *Embedded {
	t.Helper()
	embedded := &Embedded{t: t, o: server.Options{Host: "127.0.0.1", Port: FreePort(t), JetStream: true,
		StoreDir: t.TempDir(), SyncAlways: true, NoLog: true, NoSigs: true, MaxPayload: MaxPayload}}
	if password != "" {
		embedded.o.Username, embedded.o.Password = "relay", password
	}

	embedded.Start()
	t.Cleanup(embedded.Stop)
	return embedded
}

// Start starts it again where it was.
func (e *Embedded) Start() {
	e.t.Helper()
	options := e.o
	started, err := server.NewServer(&options)
	if err != nil {
		e.t.Fatal(err)
	}

	started.Start()
	if !started.ReadyForConnections(time.Minute) {
		e.t.Fatal("the embedded nats-server is not ready within a minute")
	}
	e.server = started
}

// Stop ends it. Its store stays.
func (e *Embedded) Stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// URL is where clients reach it.
func (e *Embedded) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", e.o.Port) }
