package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/plan"
)

// withScreens adds screens, with a route to each.
func withScreens(screens ...config.Screen) func(*testDaemon) {
	return func(k *testDaemon) {
		k.Conf.Display = config.Default().Display
		k.change(func(o *Options) {
			k.display = virtual.NewNetwork()
			o.Display = k.display
		})
		for _, s := range screens {
			k.Conf.Screens = append(k.Conf.Screens, s)
			if !s.IsPass() {
				k.Conf.Routes = append(k.Conf.Routes,
					plan.Route{When: fmt.Sprintf("item.station == %q", s.Name), To: []string{s.Name}})
			}
		}
	}
}

// testScreen is a screen with the defaults.
func testScreen(name string) config.Screen {
	s := config.Defaults[config.Screen]()
	s.Name = name
	return s
}

// testPass is a screen that shows whole orders.
func testPass(name string, of ...string) config.Screen {
	s := testScreen(name)
	s.Mode, s.Of = "pass", of
	return s
}

// A page works as the page of a screen in a browser does: it keeps the board that it receives,
// reports which tickets it shows, and answers heartbeats.
type page struct {
	k      *testDaemon
	name   string
	id     string
	client *http.Client
	cancel context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex // guards the fields below
	orders map[string]*board.Order
}

// openPage opens a page of a screen and waits until it is live.
func (k *testDaemon) openPage(screen string) *page {
	k.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &page{
		k: k, name: screen, id: strings.ReplaceAll("page-of-"+screen, "-", "x"), cancel: cancel,
		ended:  make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{DialContext: k.display.Dial}},
		orders: map[string]*board.Order{},
	}
	req, err := http.NewRequestWithContext(ctx, "GET", p.url("events")+"?page="+p.id, nil)
	k.must(err)
	resp, err := p.client.Do(req)
	k.must(err)
	if resp.StatusCode != http.StatusOK {
		k.T.Fatalf("the page of %s got %s", screen, resp.Status)
	}
	go func() {
		defer close(p.ended)
		defer resp.Body.Close()
		p.read(resp.Body)
	}()
	synctest.Wait()
	return p
}

// close ends the page without notice, as a tablet with an empty battery does.
func (p *page) close() {
	p.cancel()
	<-p.ended
	p.client.CloseIdleConnections()
	synctest.Wait()
}

func (p *page) url(what string) string {
	return "http://localhost/screen/" + url.PathEscape(p.name) + "/" + what
}

func (p *page) read(r io.Reader) {
	var kind string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "event":
			kind = value
		case "data":
			p.handleEvent(kind, []byte(value))
		}
	}
}

func (p *page) handleEvent(kind string, data []byte) {
	switch kind {
	case "state":
		var s board.Snapshot
		p.decode(data, &s)
		p.mu.Lock()
		p.orders = map[string]*board.Order{}
		for _, o := range s.Orders {
			p.orders[o.Key] = o
		}
		p.mu.Unlock()
	case "change":
		var e board.Event
		p.decode(data, &e)
		p.mu.Lock()
		delete(p.orders, e.Order)
		if e.View != nil && e.View.State == board.Open {
			p.orders[e.Order] = e.View
		}
		p.mu.Unlock()
	case "beat":
	default:
		return
	}
	p.mu.Lock()
	var jobs []uint64
	for _, o := range p.orders {
		for _, k := range o.Tickets {
			jobs = append(jobs, k.Job)
		}
		for _, v := range o.Voids {
			jobs = append(jobs, v.Job)
		}
	}
	p.mu.Unlock()
	p.post("shown", map[string]any{"page": p.id, "jobs": jobs}, nil)
}

func (p *page) decode(data []byte, into any) {
	err := json.Unmarshal(data, into)
	assert.True(p.k.T, err == nil, p.name, string(data), err)
}

func (p *page) post(what string, body, into any) {
	b, err := json.Marshal(body)
	if err != nil {
		p.k.T.Error(err)
		return
	}
	resp, err := p.client.Post(p.url(what), "application/json", bytes.NewReader(b))
	if err != nil {
		return // the daemon stops
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	assert.True(p.k.T, resp.StatusCode < 300 || resp.StatusCode == http.StatusConflict, what, resp.Status,
		string(answer))
	if into != nil {
		p.decode(answer, into)
	}
}

// want compares the numbers of the tickets on the page, in place: with ! for POSSIBLE DUPLICATE,
// @GRILL for another station's, - for items done. At the pass it is the orders, with + for ready.
func (p *page) want(shows string) {
	p.k.T.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, o := range slices.SortedFunc(maps.Values(p.orders), func(a, b *board.Order) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Number, b.Number))
	}) {
		word := strings.TrimPrefix(o.Number, "#")
		for _, k := range o.Tickets {
			if k.Duplicate {
				word += "!"
			}
			if k.For != "" {
				word += "@" + k.For
			}
			for _, it := range k.Items {
				if it.Done && len(o.Parts) == 0 {
					word += "-"
				}
			}
		}
		if o.Ready {
			word += "+"
		}
		out = append(out, word)
	}
	assert.Equal(p.k.T, strings.Join(out, " "), shows, p.name)
}

// press sends a cook's command for the ticket with that number.
func (p *page) press(verb board.Verb, number string) {
	p.k.T.Helper()
	p.mu.Lock()
	c := board.Command{ID: "press-" + string(verb) + "-" + number, Do: verb}
	for key, o := range p.orders {
		if strings.TrimPrefix(o.Number, "#") == number {
			if c.Order, c.Version = key, o.Version; verb == board.ItemDone {
				c.Order, c.Job, c.Version = "", o.Tickets[0].Job, o.Tickets[0].Version
			}
		}
	}
	p.mu.Unlock()
	c.ID += fmt.Sprint("-", c.Version) // another press than for an earlier ticket of the order
	var r board.Result
	p.post("do", struct {
		Page string `json:"page"`
		board.Command
	}{p.id, c}, &r)
	assert.Equal(p.k.T, r.Outcome, board.Done, verb, number, p.name)
}

// order is an order on the page of a pass.
func (p *page) order(number string) board.Order {
	p.k.T.Helper()
	p.k.Advance(2 * time.Second) // the pass asks for the parts once a second
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.Number == "#"+number {
			return *o
		}
	}
	p.k.T.Fatalf("%s has no order %s", p.name, number)
	return board.Order{}
}

// wantParts compares the pass's list of an order, one line for each part. The last line says whether the order is
// ready.
func (p *page) wantParts(number string, want ...string) {
	p.k.T.Helper()
	o := p.order(number)
	var got []string
	for _, part := range o.Parts {
		text := part.Title + " " + part.Told
		if part.At != "" {
			text += " at " + part.At
		}
		if part.TickedAt != 0 {
			text += " (ticked)"
		}
		got = append(got, text)
	}
	got = append(got, map[bool]string{true: "ready", false: "not ready"}[o.Ready])
	assert.Equal(p.k.T, strings.Join(got, "\n"), strings.Join(want, "\n"), number)
}

// tick ticks the part of an order that a station has.
func (p *page) tick(number, station string) board.Outcome {
	p.k.T.Helper()
	o := p.order(number)
	var r board.Result
	p.post("do", map[string]any{
		"page": p.id, "id": "tick-" + number + station, "do": "tick", "order": o.Key, "version": o.Version,
		"part": station,
	}, &r)
	return r.Outcome
}
