// Package outcomes tells another system the outcome of each ticket: that it was accepted, is late, came out and
// which proof there is, is held, or failed.
//
// The queue keeps each outcome until it was taken, over restarts. So a receiver that was away for a day gets them
// all, in order. One may come twice, under the same id. Telling never delays a ticket.
package outcomes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/webhook"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

const (
	look        = time.Second      // between two looks for outcomes
	lookLate    = 10 * time.Second // between two looks for late tickets
	atOnce      = 100              // outcomes that are read, and then forgotten, together
	firstRetry  = time.Second
	lastRetry   = 5 * time.Minute
	storeWithin = 5 * time.Second
	tellAfter   = time.Minute // a receiver that fails for longer is a finding
)

// An Event is one posted message. Fields are only added.
type Event struct {
	// Type is ticket.accepted, ticket.late, ticket.out, ticket.held, ticket.failed, ticket.expired,
	// ticket.cancelled or ticket.moved; or, of a whole order, order.ready or order.not_ready.
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when it became so
	Data      Data      `json:"data"`
}

// Data describes the ticket. It has no dish of the order.
type Data struct {
	// Seq goes up by one with each event. A gap says that events were lost, because no receiver took them for as long
	// as the history goes back, or because the database was damaged. It begins anew with a new database.
	Seq     uint64       `json:"seq"`
	Job     uint64       `json:"job"`          // by which operators of ticketrail ask for it
	Of      uint64       `json:"of,omitempty"` // the job that it is a copy of, or was moved from
	Station string       `json:"station"`
	Proof   ticket.State `json:"proof,omitempty"` // of ticket.out: confirmed, processed, sent, shown or taken
	Reason  string       `json:"reason,omitempty"`
	// Of an order: its name at all stations, and its jobs there. Job is the first of them.
	Order string   `json:"order,omitempty"`
	Jobs  []uint64 `json:"jobs,omitempty"`
	// Attempts are those that failed or succeeded until then. MayHaveComeOut: one of those that failed may have.
	Attempts       int  `json:"attempts"`
	MayHaveComeOut bool `json:"may_have_come_out"`

	// The fields below are missing if the history does not have the job any more.
	Kind       ticket.Kind `json:"kind,omitempty"` // absent for an order
	Reprint    bool        `json:"reprint,omitempty"`
	Request    string      `json:"request,omitempty"` // the point of sale's id of the request
	Record     string      `json:"record,omitempty"`  // its id of the record in that request
	Device     string      `json:"device,omitempty"`
	Venue      string      `json:"venue,omitempty"`
	VenueName  string      `json:"venue_name,omitempty"`
	Number     string      `json:"number,omitempty"`
	Table      string      `json:"table,omitempty"`
	ReceivedAt *time.Time  `json:"received_at,omitempty"`
}

// Options configure a [Teller]. All are required.
type Options struct {
	Queue      *queue.Queue
	Registerer prometheus.Registerer
	Logger     *slog.Logger
	// Orders returns the orders of each station that says when one is ready, by its name.
	Orders func() map[string]*board.Orders
}

// A Teller posts outcomes. Use and Finding may be called from any goroutine.
type Teller struct {
	o       Options
	conf    atomic.Pointer[config.Outcomes]
	changed chan struct{}
	posted  *prometheus.CounterVec
	// post is replaced by tests.
	post func(ctx context.Context, rt http.RoundTripper, address string, m webhook.Message) error

	mu      sync.Mutex // guards the fields below
	failing error      // of the last attempt
	since   time.Time  // of the first attempt that failed

	// Of the orders that are ready, see noteReady; only watch uses them.
	kv       *queue.KV
	marks    map[string]bool   // nil: to be read
	readAt   time.Time         // when they were
	compared map[string]string // by station: the id of the state that they were compared with
}

// New makes a Teller without a receiver.
func New(o Options) *Teller {
	factory := promauto.With(o.Registerer)
	teller := &Teller{o: o, changed: make(chan struct{}, 1), post: webhook.Deliver,
		kv: o.Queue.KV("ready"),
		posted: factory.NewCounterVec(prometheus.CounterOpts{Name: "ticketrail_outcomes_posted_total",
			Help: "Outcomes of tickets that were posted, by result; a failed one is posted again."},
			[]string{"result"})}
	for _, result := range []string{"taken", "failed"} {
		teller.posted.WithLabelValues(result)
	}

	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "ticketrail_outcomes_waiting",
		Help: "Outcomes of tickets that the receiver has not taken yet."}, func() float64 {
		kept, _ := o.Queue.OutcomesKept() // a queue that cannot be read has its own metrics
		return float64(kept)
	})

	teller.conf.Store(&config.Outcomes{})
	return teller
}

// Use makes conf active.
func (t *Teller) Use(conf config.Outcomes) {
	t.conf.Store(&conf)
	t.o.Queue.KeepOutcomes(conf.Enabled())
	select {
	case t.changed <- struct{}{}:
	default: // the change before is not seen yet either
	}
}

// Run tells outcomes until ctx ends. It returns nil.
func (t *Teller) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	watching.Go(func() {
		t.watch(ctx, lookLate, func(c *config.Outcomes) error { return t.o.Queue.MarkLate(ctx, c.LateAfter) })
	})

	watching.Go(func() { t.watch(ctx, lookReady, func(*config.Outcomes) error { return t.noteReady(ctx) }) })
	defer watching.Wait()
	retry := webhook.Backoff{First: firstRetry, Last: lastRetry}
	for ctx.Err() == nil {
		wait := look
		if conf := t.conf.Load(); conf.Enabled() {
			more, err := t.tell(ctx, conf)
			switch {
			case err != nil && ctx.Err() == nil:
				wait = retry.Next()
				t.failed(err, wait)
			case err == nil:
				retry.Reset()
				t.failed(nil, 0)
			}
			if more {
				continue
			}
		}

		t.wait(ctx, wait)
	}

	return nil
}

// wait ends early when the configuration changes, because the operator may have repaired it.
func (t *Teller) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-t.changed:
	case <-timer.C:
	}
}

// tell posts some outcomes. more says that there may be others at once.
//
// The outcomes that were taken are forgotten in one commit. A crash before it: they are posted again, with the
// same ids.
func (t *Teller) tell(ctx context.Context, conf *config.Outcomes) (more bool, err error) {
	keys, err := webhook.ReadKeys(conf.Keys.Reveal())
	if err != nil {
		return false, fmt.Errorf("outcomes.secret_file: %w", err)
	}

	all, err := t.o.Queue.Outcomes(atOnce)
	if err != nil || len(all) == 0 {
		return false, err
	}

	taken := uint64(0)
	for _, o := range all {
		if o.What != "" { // else it is damaged: the gap in Seq says so
			if err = t.tellOne(ctx, conf.Address.Reveal(), keys, o); err != nil {
				break
			}
			t.posted.WithLabelValues("taken").Inc()
		}
		taken = o.Seq
	}

	if taken != 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
		defer cancel()
		if forget := t.o.Queue.ForgetOutcomes(ctx, taken); forget != nil && err == nil {
			err = forget
		}
	}

	return err == nil && len(all) == atOnce, err
}

func (t *Teller) tellOne(ctx context.Context, address string, keys webhook.Keys, o queue.Outcome) error {
	event, err := t.event(ctx, o)
	if err != nil {
		return err
	}

	body, err := json.Marshal(event)
	if err != nil {
		return err
	}

	// Another database may use the same number for another outcome.
	id := fmt.Sprintf("outcome_%d_%s", o.Seq,
		ticket.Hash(strconv.FormatUint(o.Job, 10), o.What, strconv.FormatInt(o.At.UnixMilli(), 10)))
	return t.post(ctx, http.DefaultTransport, address, webhook.Message{ID: id, Body: body, Keys: keys})
}

// event adds the job's fields from the history.
func (t *Teller) event(ctx context.Context, o queue.Outcome) (Event, error) {
	e := Event{Type: "ticket." + o.What, Timestamp: o.At, Data: Data{
		Seq: o.Seq, Job: o.Job, Station: o.Station, Reason: o.Reason, Attempts: o.Attempts, MayHaveComeOut: o.Doubt,
		Order: o.Order, Jobs: o.Jobs,
	}}
	if o.Order != "" {
		e.Type = "order." + o.What
	}

	if proof := ticket.State(o.What); slices.Contains(ticket.Proofs(), proof) {
		e.Type, e.Data.Proof, e.Data.MayHaveComeOut = "ticket.out", proof, false
	}

	job, _, _, err := t.o.Queue.Job(ctx, o.Job)
	if err != nil {
		if errors.Is(err, queue.ErrNotFound) || errors.Is(err, queue.ErrDamaged) {
			return e, nil
		}
		return Event{}, err
	}

	data := &e.Data
	data.Of, data.Kind, data.Reprint = job.MadeFrom, job.Kind, job.Reprint
	data.Request, data.Record, data.Device = job.Request, job.Record, job.Device
	data.Venue, data.VenueName, data.Number, data.Table = job.Venue, job.VenueName, job.Number, job.Table
	data.ReceivedAt = &job.ReceivedAt
	return e, nil
}

// watch looks for something to tell at an interval, also while the receiver is away.
func (t *Teller) watch(ctx context.Context, interval time.Duration, look func(*config.Outcomes) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if conf := t.conf.Load(); conf.Enabled() {
			if err := look(conf); err != nil && ctx.Err() == nil {
				t.o.Logger.Warn("an outcome could not be noted", "err", err)
			}
		}
	}
}

// failed keeps the result of the last attempt.
func (t *Teller) failed(err error, retry time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()

	switch {
	case err == nil && t.failing != nil:
		t.o.Logger.Info("outcomes of tickets are taken again", "failed_for", time.Since(t.since).Round(time.Second))
	case err != nil:
		t.posted.WithLabelValues("failed").Inc()
		if t.failing == nil {
			t.since = time.Now()
		}
		if t.failing == nil || t.failing.Error() != err.Error() { // once for each reason
			t.o.Logger.Warn("outcomes of tickets could not be posted",
				"err", err, "next_try_in", retry.Round(time.Second))
		}
	}

	t.failing = err
}

// Finding says that the receiver does not take outcomes.
func (t *Teller) Finding() (f finding.Finding, ok bool) {
	t.mu.Lock()
	failing, since := t.failing, t.since
	t.mu.Unlock()
	if failing == nil || time.Since(since) < tellAfter || !t.conf.Load().Enabled() {
		return finding.Finding{}, false
	}

	kept, _ := t.o.Queue.OutcomesKept() // a queue that cannot be read has its own finding
	return finding.Finding{ID: "outcomes/not_taken", Level: finding.Warn, Subject: "outcomes", Since: since,
		Text: ticket.Plural(cmp.Or(int(kept), 1), "outcome") + " not taken", Detail: failing.Error(),
		Do: "repair the program at outcomes.url; it gets them then, and nothing else waits for it"}, true
}
