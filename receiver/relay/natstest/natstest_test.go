package natstest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/deploy/slow"
)

func TestAKilledNodeComesBackWithWhatItStored(t *testing.T) {
	slow.Test(t, "go")
	c := ForTest(t, 3, nil)
	nc, err := nats.Connect(c.URL(0))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("a")); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	victim := 1
	if c.Node(stream.CachedInfo().Cluster.Leader) == victim {
		victim = 2
	}
	c.Kill(victim)
	if c.PID(victim) != 0 {
		t.Error("a killed node has a process")
	}
	if _, err := js.Publish(t.Context(), "s", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.State.Msgs != 2 {
		t.Errorf("%d messages are stored, want 2", info.State.Msgs)
	}
	for _, replica := range info.Cluster.Replicas {
		if replica.Offline {
			t.Errorf("%s is offline", replica.Name)
		}
	}
}
