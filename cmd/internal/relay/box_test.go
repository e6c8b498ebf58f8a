package relay

import (
	"bytes"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/cmd/internal/natsaccess"
	store "ticketrail/receiver/relay"
)

// wantFetched has a box of the venue grill fetch orders, which must be these.
func (c *cloud) wantFetched(creds string, items ...string) {
	c.Helper()
	conf := c.admin().Conf
	box, err := natsaccess.Connect(c.Context(), natsaccess.Options{URLs: conf.NATS.URLs, CredentialsFile: creds})
	if err != nil {
		c.Fatal(err)
	}
	defer box.Close()
	js, err := jetstream.New(box)
	if err != nil {
		c.Fatal(err)
	}
	consumer, err := js.Consumer(c.Context(), store.StreamName, grill)
	if err != nil {
		c.Fatal(err)
	}
	for _, want := range items {
		m, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil || !bytes.Contains(m.Data(), []byte(want)) {
			c.Fatalf("the box gets %v, %v, want %s", m, err, want)
		}
		if err := m.DoubleAck(c.Context()); err != nil {
			c.Fatal(err)
		}
	}
}
