package printer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestNoQuestionIsWrittenToAFile(t *testing.T) {
	for _, confirm := range []profile.Confirm{profile.Auto, profile.ByStatus, profile.ByProcessID} {
		for _, remembered := range []string{
			"", `{"fence":"process_id","real_time":"AQIDBA==","automatic_status":true}`,
		} {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "grill.bin")
				file, err := transport.Open("file://" + path)
				if err != nil {
					t.Fatal(err)
				}
				r := newHarness(t, nil, file, func(d *printer.DeviceOptions, _ *printer.Options) {
					d.Confirm, d.PollEvery = confirm, 5*time.Minute
				})
				if remembered != "" {
					r.mem.Set("grill", remembered)
				}
				ctx, cancel := context.WithCancel(t.Context())
				go r.d.Watch(ctx)
				written := func() string {
					b, err := os.ReadFile(path)
					if err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
					return string(b)
				}
				time.Sleep(3 * time.Hour)
				if got := written(); got != "" {
					t.Errorf("polls wrote % x", got)
				}
				for range 3 {
					r.want("A1", "sent")
					time.Sleep(2 * time.Hour)
				}
				r.wantState(printer.Unknown)
				cancel()
				synctest.Wait()
				got := written()
				if n := strings.Count(got, "A1\n"); n != 3 {
					t.Errorf("%d tickets in %q", n, got)
				}
				for _, question := range []string{"\x10\x04", "\x1d(H", "\x1dr", "\x1da"} {
					if strings.Contains(got, question) {
						t.Errorf("%s, remembered %q: asked % x in %q", confirm, remembered, question, got)
					}
				}
				if r.log.count("level=WARN") > 0 {
					t.Error("a file was warned of")
				}
			})
		}
	}
}

func TestTicketsAreAppendedToAFileWithoutPadding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grill.bin")
	dialer, err := transport.Open("file://" + path)
	if err != nil {
		t.Fatal(err)
	}
	p := paper(t, dialer, nil)
	for range 2 {
		proof, err := p.Print(t.Context(), order(3), func(context.Context) error { return nil })
		if proof != ticket.Sent {
			t.Fatalf("%q, %v", proof, err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(b, make([]byte, 8)); i >= 0 {
		t.Errorf("from byte %d of %d on, the file holds padding", i, len(b))
	}
	if !bytes.HasPrefix(b, []byte("\x1b@")) {
		t.Errorf("it begins with % x, not with a ticket", b[:8])
	}
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(virtual.Options{})
		c, err := v.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := v.Wait(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		for _, got := range v.Tickets() {
			if !strings.Contains(got.Text, "Crème brûlée 2") || got.End != virtual.Cut {
				t.Errorf("%s: %s", got.End, got.Text)
			}
		}
	})
}
