package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"ticketrail/printer/kds"
)

// A tablet does to the server what the script of a page does (live.js), and draws nothing: it
// loads the page, listens to the stream, and says which cards it holds after each change and
// heartbeat.
type tablet struct {
	url, id string
	client  *http.Client
	end     context.CancelFunc
	ended   sync.WaitGroup
	due     chan struct{} // holds one when there is something to say
	live    chan struct{} // closed when the server knows what it holds

	mu    sync.Mutex           // guards what follows
	cards map[uint64]*kds.Card // the open ones
	err   error
}

// openTablet opens a screen's page; it is live a moment later.
func openTablet(ctx context.Context, url string, n uint64) (*tablet, error) {
	ctx, end := context.WithCancel(ctx)
	t := &tablet{
		url: url, id: fmt.Sprintf("tablet%010d", n), client: &http.Client{Transport: &http.Transport{}}, end: end,
		due: make(chan struct{}, 1), live: make(chan struct{}),
	}
	at, err := t.load(ctx)
	var stream *http.Response
	if err == nil {
		stream, err = t.ask(ctx, http.MethodGet, "/events?page="+t.id+"&after="+at, nil)
	}
	if err != nil {
		end()
		return nil, err
	}
	t.ended.Go(func() { t.failed(ctx, t.listen(stream.Body)) })
	t.ended.Go(func() { t.failed(ctx, t.speak(ctx)) })
	return t, nil
}

// load reads the page, and the board that its script would begin with.
func (t *tablet) load(ctx context.Context) (at string, err error) {
	resp, err := t.ask(ctx, http.MethodGet, "", nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	_, start, _ := bytes.Cut(text, []byte(`id="start">`))
	var begins struct{ State kds.Snapshot }
	if err := json.NewDecoder(bytes.NewReader(start)).Decode(&begins); err != nil {
		return "", fmt.Errorf("what the page's script begins with: %w", err)
	}
	t.take(begins.State)
	return begins.State.ID, nil
}

func (t *tablet) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	return askScreen(ctx, t.client, method, t.url+path, body)
}

// askScreen sends what a page would send. An answer that is no success is an error.
func askScreen(ctx context.Context, c *http.Client, method, url string, body any) (*http.Response, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, text)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, fmt.Errorf("%s %s is answered %s: %s", method, url, resp.Status, text)
	}
	return resp, nil
}

// answered reads the JSON of an answer, to its end: a connection is used again, as by a browser.
func answered(resp *http.Response, into any) error {
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (t *tablet) take(s kds.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards = map[uint64]*kds.Card{}
	for _, c := range s.Open {
		t.cards[c.Job] = c
	}
}

func (t *tablet) apply(e kds.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Card != nil && e.Card.State == kds.Open {
		t.cards[e.Job] = e.Card
	} else {
		delete(t.cards, e.Job)
	}
}

// waitLive waits until the server knows what the page holds.
func (t *tablet) waitLive(ctx context.Context) error {
	select {
	case <-t.live:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("a screen is not live after %v", patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// holds waits until so many cards are open on it.
func (t *tablet) holds(ctx context.Context, want int) error {
	for began := time.Now(); ; {
		t.mu.Lock()
		n, err := len(t.cards), t.err
		t.mu.Unlock()
		if n == want || err != nil {
			return err
		}
		if time.Since(began) > patience {
			return fmt.Errorf("a screen holds %d tickets after %v, want %d", n, patience, want)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func (t *tablet) listen(stream io.ReadCloser) error {
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 16<<20)
	kind := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if name == "event" {
			kind = value
		}
		if name != "data" {
			continue
		}
		var err error
		switch kind {
		case "state":
			var s kds.Snapshot
			err = json.Unmarshal([]byte(value), &s)
			t.take(s)
		case "change":
			var e kds.Event
			err = json.Unmarshal([]byte(value), &e)
			t.apply(e)
		case "hello":
			continue
		}
		if err != nil {
			return err
		}
		select {
		case t.due <- struct{}{}:
		default:
		}
	}
	return errors.Join(errors.New("the stream of a screen ended"), lines.Err())
}

// speak tells the server the cards that it was not told of; all of them while it knows nothing.
func (t *tablet) speak(ctx context.Context) error {
	said, fresh := map[uint64]bool{}, true
	for first := true; ; first = false {
		select {
		case <-t.due:
		case <-ctx.Done():
			return nil
		}
		for again := true; again; again = fresh {
			whole, all, news := fresh, map[uint64]bool{}, []uint64{}
			t.mu.Lock()
			for job := range t.cards {
				if all[job] = true; whole || !said[job] {
					news = append(news, job)
				}
			}
			t.mu.Unlock()
			resp, err := t.ask(ctx, http.MethodPost, "/shown", map[string]any{"page": t.id, "jobs": news})
			if err != nil {
				return err
			}
			var answer struct{ Fresh bool }
			if err := answered(resp, &answer); err != nil {
				return err
			}
			said, fresh = all, answer.Fresh && !whole
		}
		if first {
			close(t.live)
		}
	}
}

func (t *tablet) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // it was closed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
}

// close says goodbye, as a page does, and returns what went wrong before.
func (t *tablet) close(ctx context.Context) error {
	resp, err := t.ask(ctx, http.MethodPost, "/bye", map[string]string{"page": t.id})
	if err == nil {
		err = resp.Body.Close()
	}
	t.mu.Lock()
	err = errors.Join(t.err, err)
	t.mu.Unlock()
	t.end()
	t.ended.Wait()
	t.client.CloseIdleConnections()
	return err
}
