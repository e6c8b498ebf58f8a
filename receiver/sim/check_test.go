package sim

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestARightIntegratorPassesEveryRow(t *testing.T) {
	for name, change := range map[string]func(*kitchen){
		"it marks duplicates":      func(k *kitchen) { k.burst = 300 },
		"it marks nothing":         func(k *kitchen) { k.silent = true },
		"it answers 202":           func(k *kitchen) { k.done, k.duplicate = 202, 202 },
		"it uses 403 only":         func(k *kitchen) { k.noVenue, k.noDevice = 403, 403 },
		"it marks duplicates only": func(k *kitchen) { k.duplicatesOnly = true },
		"it takes almost five seconds": func(k *kitchen) {
			k.opened = func(*http.Request, contract.PrintRequest) int {
				time.Sleep(4900 * time.Millisecond)
				return 0
			}
			k.burst = 300
		},
		"capitals on narrow paper":      func(k *kitchen) { k.slip.loud, k.slip.width = true, 14 },
		"quantities behind names":       func(k *kitchen) { k.slip.after = true },
		"bullets":                       func(k *kitchen) { k.slip.bullets = true },
		"voids in its own language":     func(k *kitchen) { k.slip.voidWord = "取消" },
		"a mark on each line of a void": func(k *kitchen) { k.slip.marks, k.slip.width = true, 20 },
		"other scripts are drawn":       func(k *kitchen) { k.slip.draws = true },
		"both records on one slip":      func(k *kitchen) { k.split = false },
		"a slip at the station and another": func(k *kitchen) {
			k.store = func(p contract.PrintRequest) { k.queue = append(k.queue, p, p) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged(t, change, func(t *testing.T, results []Result) {
				for _, r := range results {
					assert.Equal(t, r.Verdict, Pass, r.Section, r.Name, r.Got)
				}
				assert.True(t, len(results) >= 60, "it was checked for", len(results))
			})
		})
	}
}

func TestWhatNothingSeesIsUnseen(t *testing.T) {
	noRestart := func(context.Context) error { return errors.New("no such unit") }
	for name, c := range map[string]struct {
		change  func(*kitchen, *CheckOptions)
		because string // the text of an unseen row
	}{
		"no output":         {func(_ *kitchen, o *CheckOptions) { o.Output = nil }, "nothing sees what comes out"},
		"no switch":         {func(_ *kitchen, o *CheckOptions) { o.Output.Off = nil }, "nothing can make it so"},
		"no restart":        {func(_ *kitchen, o *CheckOptions) { o.Restart = nil }, "nothing can restart it"},
		"the restart fails": {func(_ *kitchen, o *CheckOptions) { o.Restart = noRestart }, "no such unit"},
		"the output fails": {func(_ *kitchen, o *CheckOptions) {
			o.Output = &Output{Slips: func(context.Context) ([]Slip, error) { return nil, errors.New("no such table") }}
		}, "no such table"},
		"all is drawn": {func(_ *kitchen, o *CheckOptions) {
			slips := o.Output.Slips
			o.Output.Slips = func(ctx context.Context) ([]Slip, error) {
				all, err := slips(ctx)
				for i := range all {
					all[i] = Slip{Pictures: all[i].Text}
				}
				return all, err
			}
		}, "none has what was sent as text"},
		"a printer that needs a second for each": {func(_ *kitchen, o *CheckOptions) {
			slips, began := o.Output.Slips, time.Now()
			o.Output.Slips = func(ctx context.Context) ([]Slip, error) {
				all, err := slips(ctx)
				return all[:min(len(all), int(time.Since(began)/time.Second))], err
			}
		}, "tickets still come out after"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := false
				for _, r := range checked(t, newKitchen(), c.change) {
					assert.True(t, r.Verdict != Fail, r.Name, r.Got)
					said = said || r.Verdict == Unseen && strings.Contains(r.Got, c.because)
				}
				assert.True(t, said, "no row says", c.because)
			})
		})
	}
}

func TestAnEndpointThatCannotBeReachedIsJudgedAtOnce(t *testing.T) {
	refused := roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp 127.0.0.1:80: connection refused")
	})
	results := Check(t.Context(), CheckOptions{
		URL: "http://127.0.0.1/hook", Venues: []string{venueA}, Transport: refused,
	})
	assert.True(t, len(results) == 2 && results[1].Verdict == Fail && strings.Contains(results[1].Got,
		"connection refused"), results)
}

func TestControlCharactersOfAnAnswerAreNotPrinted(t *testing.T) {
	results := Check(t.Context(), CheckOptions{URL: "http://127.0.0.1/", Venues: []string{venueA}, Transport: answering(
		"HTTP/1.1 200 OK\r\n\x1b]0;pwned\x07\xe2\x80\xae no header\r\n\r\n")})
	if got := results[1].Got; strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) ||
		!strings.Contains(got, "no header") {
		t.Errorf("%q", got)
	}
}

func TestAnInterruptedCheckReturnsItsResultsSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	got := Check(ctx, CheckOptions{URL: "http://127.0.0.1/", Venues: []string{venueA}, OnResult: func(Result) {
		if n++; n == 2 {
			cancel()
		}
	}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, r.Context().Err()
	})})
	assert.Equal(t, len(got), 2)
}

func TestAnAddressMustBeHTTPSOrOfThisMachine(t *testing.T) {
	for to, want := range map[string]Verdict{
		"https://kitchen.example/hook": Pass, "http://127.0.0.1:8443/": Pass,
		"http://localhost/": Pass, "http://[::1]:80/": Pass,
		"http://kitchen.example/hook": Fail, "http://192.168.1.5/": Fail, "http://%": Fail,
	} {
		c := &tester{checker: &checker{o: CheckOptions{URL: to}}}
		_, got := c.address()
		assert.Equal(t, got, want, to)
	}
}

// judged runs the check against a kitchen in a bubble. It must take two minutes at most.
func judged(t *testing.T, change func(*kitchen), judge func(*testing.T, []Result)) {
	synctest.Test(t, func(t *testing.T) {
		k, began := newKitchen(), time.Now()
		change(k)
		results := checked(t, k, func(*kitchen, *CheckOptions) {})
		took := time.Since(began)
		assert.True(t, took <= 2*time.Minute, "it took", took)
		judge(t, results)
	})
}

func checked(t *testing.T, k *kitchen, change func(*kitchen, *CheckOptions)) []Result {
	o := CheckOptions{
		URL: "http://127.0.0.1/hook", Venues: []string{venueA, venueB}, Transport: inMemory(t, k), Output: k.output(),
		Restart: k.restart, Burst: k.burst,
	}
	change(k, &o)
	return Check(t.Context(), o)
}

// answering is a server that answers each request with these bytes.
func answering(wire string) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(server))
			_, _ = io.WriteString(server, wire)
			_ = server.Close()
		}()
		return client, nil
	}}
}
