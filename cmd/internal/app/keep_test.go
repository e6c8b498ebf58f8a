package app

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"ticketrail/config"
)

func TestAPortThatWasKeptIsServedAgainUntilItsAddressChanges(t *testing.T) {
	var said []string
	var given net.Listener
	keeper := Keeper{Send: func(state string, with net.Listener) error {
		said, given = append(said, state), with
		return nil
	}}
	conf, log := config.Receiver{Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler)

	first, err := keeper.listen(conf, log)
	must(t, err)
	defer first.Close()
	want := []string{"FDSTORE=1\nFDPOLL=0\nFDNAME=webhook-127.0.0.1/0"}
	if !slices.Equal(said, want) || given != first {
		t.Fatalf("said %q with %v, want %q with the listener", said, given, want)
	}

	said = nil
	keeper.Found = map[string][]net.Listener{"webhook-127.0.0.1/0": {first}}
	again, err := keeper.listen(conf, log)
	if err != nil || again != first || len(said) > 0 {
		t.Fatalf("got %v, %v and said %q; want the kept listener and not a word", again, err, said)
	}

	for _, listen := range []string{"127.0.0.1:0", ""} { // another address, or no webhook any more
		said = nil
		old := local(t)
		keeper.Found = map[string][]net.Listener{"webhook-127.0.0.1/9": {old}}
		changed, err := keeper.listen(config.Receiver{Listen: listen}, log)
		if err != nil || (changed == nil) != (listen == "") || changed == old {
			t.Fatalf("with %q it serves %v: %v", listen, changed, err)
		}
		wantSaid := 1
		if changed != nil {
			defer changed.Close()
			wantSaid = 2
		}
		if want := "FDSTOREREMOVE=1\nFDNAME=webhook-127.0.0.1/9"; len(said) != wantSaid || said[0] != want {
			t.Errorf("with %q it said %q, want first %q", listen, said, want)
		}
		if _, err := old.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("with %q the old port is still open: %v", listen, err)
		}
	}
}

// TestAnAddressMayChangeToAnotherOneWithTheSamePort goes from 127.0.0.1 to any: systemd has the old listener for a
// moment longer. Another process may have the port at another address, so it is tried a few times.
func TestAnAddressMayChangeToAnotherOneWithTheSamePort(t *testing.T) {
	change := func() error {
		old := local(t)
		kept, err := old.(*net.TCPListener).File()
		must(t, err)
		defer kept.Close()
		_, port, _ := net.SplitHostPort(old.Addr().String())
		keeper := Keeper{Found: map[string][]net.Listener{"webhook-127.0.0.1/" + port: {old}}}
		l, err := keeper.listen(config.Receiver{Listen: ":" + port}, slog.New(slog.DiscardHandler))
		if err == nil {
			l.Close()
		}
		return err
	}
	err := change()
	for range 5 {
		if err != nil {
			err = change()
		}
	}
	must(t, err)
}

func TestAPortThatIsNotKeptIsServedAndWarnedOf(t *testing.T) {
	var log strings.Builder
	keeper := Keeper{Send: func(string, net.Listener) error { return errors.New("no such socket") }}
	l, err := keeper.listen(config.Receiver{Listen: "127.0.0.1:0"}, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	l.Close()
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "no such socket") {
		t.Errorf("log: %q", log.String())
	}
}

func local(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// must ends the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
