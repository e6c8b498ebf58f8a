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
					if o := r.want("A1", "sent"); o.took > 0 { // a file has nothing to print
						t.Errorf("it was waited %s for a file", o.took)
					}
					time.Sleep(2 * time.Hour)
				}
				if s := r.wantState(printer.Unknown); s.Capability != "sent" || s.Probed.IsZero() {
					t.Errorf("%+v", s)
				}
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
	file, err := transport.Open("file://" + path)
	if err != nil {
		t.Fatal(err)
	}
	r := newHarness(t, nil, file, neverAsked)
	for range 2 {
		r.want("A1", "sent")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := bytes.Cut(b, []byte("\x1dV"))
	if !bytes.HasPrefix(b, []byte("\x1b@")) || bytes.Contains(b, make([]byte, 8)) ||
		bytes.Count(first, []byte("A1\n")) != 1 || bytes.Count(second, []byte("A1\n")) != 1 {
		t.Errorf("the file holds %q", b)
	}
}
