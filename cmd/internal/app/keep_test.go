package app

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"ticketrail/config"
	"ticketrail/deploy/assert"
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
	assert.NoError(t, err)
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
		want := "FDSTOREREMOVE=1\nFDNAME=webhook-127.0.0.1/9"
		assert.True(t, len(said) == wantSaid && said[0] == want, listen, said, want)
		_, err = old.Accept()
		assert.True(t, errors.Is(err, net.ErrClosed), listen, err)
	}
}

// TestAnAddressMayChangeToAnotherOneWithTheSamePort goes from 127.0.0.1 to any: systemd has the old listener for a
// moment longer. Another process may have the port at another address, so it is tried a few times.
func TestAnAddressMayChangeToAnotherOneWithTheSamePort(t *testing.T) {
	change := func() error {
		old := local(t)
		kept, err := old.(*net.TCPListener).File()
		assert.NoError(t, err)
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
	assert.NoError(t, err)
}

func TestAPortThatIsNotKeptIsServedAndWarnedOf(t *testing.T) {
	var log strings.Builder
	keeper := Keeper{Send: func(string, net.Listener) error { return errors.New("no such socket") }}
	l, err := keeper.listen(config.Receiver{Listen: "127.0.0.1:0"}, slog.New(slog.NewTextHandler(&log, nil)))
	assert.NoError(t, err)
	l.Close()
	assert.True(t, strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "no such socket"),
		log.String())
}

func local(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}
