package outcomes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/webhook"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func TestWhatBecomesOfATicketIsToldOnceWithItsProof(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, _ *Teller, r *receiver, _ *strings.Builder) {
		accept(t, q, "a")
		after(4 * time.Minute)
		l, err := q.Take(t.Context(), "grill")
		if err == nil {
			printed := queue.Settlement{End: queue.Ack, Proof: ticket.Processed}
			err = errors.Join(l.Begin(t.Context(), false), l.Settle(t.Context(), printed))
		}
		assert.NoError(t, err)
		after(10 * time.Second)
		if got := r.types(); got != "ticket.accepted ticket.late ticket.out" {
			t.Fatal(got)
		}
		out := r.got[2].Data
		assert.True(t, out.Proof == ticket.Processed && out.Seq == 3 && out.Job == 1 && out.Number == "7" &&
			out.VenueName == "Harbour" && out.Attempts == 1 && !out.MayHaveComeOut && out.ReceivedAt != nil, out)
		b, err := json.Marshal(r.got)
		assert.True(t, err == nil && !strings.Contains(string(b), "Egg"), "it says what was ordered", string(b))
		assert.True(t, r.ids[0] != r.ids[1] && r.ids[1] != r.ids[2], r.ids)
	})
}

func TestAReceiverThatFailsIsAskedEverMoreSeldomAndGetsEverythingWhenItIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, told *Teller, r *receiver, log *strings.Builder) {
		r.set(errors.New("it answered 500"))
		accept(t, q, "a")
		accept(t, q, "b")
		after(30 * time.Second)
		if f, ok := told.Finding(); ok {
			t.Error("a finding after half a minute:", f)
		}
		after(24 * time.Hour)
		assert.True(t, r.tries >= 24*60/10 && r.tries <= 24*60/2, "attempts in a day", r.tries)
		f, ok := told.Finding()
		assert.True(t, ok, f)
		assert.Contains(t, f.Text, "4 outcomes not taken")
		assert.Contains(t, f.Detail, "it answered 500")
		assert.Equal(t, strings.Count(log.String(), "level=WARN"), 1, log)
		r.set(nil)
		after(8 * time.Minute)
		assert.Equal(t, r.types(), "ticket.accepted ticket.accepted ticket.late ticket.late")
		_, ok = told.Finding()
		assert.True(t, !ok && strings.Contains(log.String(), "taken again"), "it still fails", log)
	})
}

func TestARepairedConfigurationIsTriedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue.Queue, told *Teller, r *receiver, _ *strings.Builder) {
		r.set(errors.New("it answered 401"))
		accept(t, q, "a")
		after(time.Hour)
		r.set(nil)
		told.Use(*told.conf.Load())
		synctest.Wait()
		assert.Equal(t, r.types(), "ticket.accepted ticket.late")
	})
}

// A receiver is another system. hot is a screen of the kitchen, of which it is told.
type receiver struct {
	hot   *board.Board
	pass  *board.Pass // nil: none shows hot
	stop  func()      // ends the first Teller; also twice
	mu    sync.Mutex
	fails error
	tries int
	ids   []string
	got   []Event
}

func (r *receiver) post(_ context.Context, _ http.RoundTripper, _ string, m webhook.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if r.fails != nil {
		return r.fails
	}
	var e Event
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return err
	}
	r.ids, r.got = append(r.ids, m.ID), append(r.got, e)
	return nil
}

func (r *receiver) set(fails error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = fails
}

func (r *receiver) types() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.got {
		out = append(out, e.Type)
	}
	return strings.Join(out, " ")
}

// inBubble runs f with a queue and a Teller that posts to r.
func inBubble(t *testing.T, f func(t *testing.T, q *queue.Queue, told *Teller, r *receiver, log *strings.Builder)) {
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(queue.Options{Path: filepath.Join(t.TempDir(), "q.db"), NoSync: true, Reserve: -1})
		assert.NoError(t, err)
		defer q.Close()
		hot, err := board.OpenBoard(board.BoardOptions{Station: "hot", KV: q.KV("board hot")})
		assert.NoError(t, err)
		var log strings.Builder
		r := &receiver{hot: hot}
		told, stop := tell(t, q, r, &log)
		r.stop = stop
		f(t, q, told, r, &log)
		stop()
	})
}

// tell starts a Teller, as the daemon does.
func tell(t *testing.T, q *queue.Queue, r *receiver, log *strings.Builder) (told *Teller, stop func()) {
	told = New(Options{Queue: q, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(log, nil)),
		Orders: func() map[string]*board.Orders {
			if r.pass != nil {
				return map[string]*board.Orders{"pass": r.pass.Orders}
			}
			return map[string]*board.Orders{"hot": r.hot.Orders}
		}})
	told.post = r.post
	told.Use(config.Outcomes{Address: config.NewSecret("https://h/"), LateAfter: 3 * time.Minute,
		Keys: config.NewSecret("whsec_QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD\n")})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = told.Run(ctx) }()
	return told, func() { cancel(); <-ended }
}

func accept(t *testing.T, q *queue.Queue, id string) {
	t.Helper()
	_, err := q.Accept(t.Context(), ticket.Request{Venue: "v", ID: id, Device: "d", Received: time.Now(),
		Body: []byte(id), Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{
			Venue: "v", VenueName: "Harbour", Request: id, Number: "7",
			Lines: []ticket.Line{{Quantity: "1", Name: "Egg"}},
		}}}})
	assert.NoError(t, err)
}

// after waits, until nothing runs at that time.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
