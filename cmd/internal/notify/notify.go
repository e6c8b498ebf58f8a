// Package notify tells people when something needs them, and when it is over: on a phone, by mail, in a
// messenger, to a program, and on paper at a neighbouring station.
//
// It has no opinion of its own about what is wrong. It looks at the findings that `ticketrail status` shows,
// and tells the differences. What a recipient was told is stored after each message. So the next message is
// always the difference between what a recipient knows and what is true now: nothing is queued, nothing is
// told twice over a restart, and nobody hears of what was over before the message could be delivered.
//
// Delivery is best effort: it never delays a ticket, it is tried again for as long as it is true, and it
// is counted. A daemon that does not run tells nobody; monitoring does that.
package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/webhook"
	"ticketrail/queue/kv"
)

const (
	// every is how often the findings are looked at. They read the history of the last days.
	every = 10 * time.Second
	// gap is the least time between two messages to a recipient: a switch that loses power takes five
	// printers with it, and that is one message.
	gap = time.Minute
	// sendTimeout is for one message, firstRetry and lastRetry are the times between attempts.
	sendTimeout = 30 * time.Second
	firstRetry  = 30 * time.Second
	lastRetry   = 15 * time.Minute
	storeWithin = 5 * time.Second
)

// Options are what a [Notifier] needs. All are required.
type Options struct {
	// Findings are how everything is now.
	Findings func(context.Context) ([]admin.Finding, error)
	// Open reports whether stations must work now. Outside opening hours nobody is told that one fails.
	Open func(time.Time) bool
	// Slip prints a notice on paper. It is asked only with notify.slip.
	Slip func(context.Context, Event) error
	// Place says where this is, such as "Harbour Grill"; Zone is its time zone, nil if it is not known.
	Place      func() string
	Zone       func() *time.Location
	Store      kv.Store // what each recipient was told
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// A Notifier tells the recipients of the configuration. Use may be called from any goroutine.
type Notifier struct {
	o    Options
	conf atomic.Pointer[config.Notify]
	sent *prometheus.CounterVec
	// sender makes the sender of a recipient; tests replace it.
	sender func(config.Recipient) (sender, error)

	// What follows belongs to Run.
	active     *config.Notify
	conditions conditions
	recipients []*recipient
	done       chan outcome
}

// An outcome is the end of one attempt to send.
type outcome struct {
	to      *recipient
	message *Message
	tell    told // what the recipient knows if err is nil
	err     error
}

// New prepares a Notifier without recipients.
func New(o Options) *Notifier {
	n := &Notifier{o: o, sender: newSender, done: make(chan outcome), sent: promauto.With(o.Registerer).NewCounterVec(
		prometheus.CounterOpts{Name: "ticketrail_notify_messages_total",
			Help: "Messages to people by their recipient; a failed one is tried again while it is still true."},
		[]string{"to", "result"})}
	n.conf.Store(&config.Notify{})
	return n
}

// Use makes conf active, at the next look at the findings.
func (n *Notifier) Use(conf config.Notify) { n.conf.Store(&conf) }

// Run tells people until ctx ends. It returns nil.
func (n *Notifier) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	sending := 0
	for {
		select {
		case <-ctx.Done():
			for ; sending > 0; sending-- { // ctx ends them too
				<-n.done
			}
			return nil
		case d := <-n.done:
			sending--
			n.settle(ctx, d)
			continue
		case <-tick.C:
		}
		if conf := n.conf.Load(); conf != n.active {
			n.configure(conf)
		}
		if len(n.recipients) == 0 {
			continue
		}
		now := time.Now()
		n.conditions.update(now, n.findings(ctx), n.active.After, n.o.Open(now))
		for _, r := range n.recipients {
			m, tell := r.news(n.conditions)
			switch {
			case r.sending || now.Before(r.next) || len(m.Began)+len(m.Ended) == 0:
				continue
			case r.name == config.SlipName && len(m.Began) == 0:
				n.store(ctx, r, tell) // paper that says that all is well would only be in the way
				continue
			}
			m.describe(n.o.Place(), now, n.o.Zone())
			r.sending = true
			sending++
			send := r.send // a reload may replace it meanwhile
			go func() {
				ctx, cancel := context.WithTimeout(ctx, sendTimeout)
				defer cancel()
				n.done <- outcome{r, m, tell, send(ctx, m)}
			}()
		}
	}
}

func (n *Notifier) findings(ctx context.Context) []admin.Finding {
	all, err := n.o.Findings(ctx)
	if err != nil {
		return []admin.Finding{{Level: admin.Fail, Subject: "database", Text: err.Error(), Do: "see the log"}}
	}
	return all
}

// settle books the end of an attempt.
func (n *Notifier) settle(ctx context.Context, d outcome) {
	r, log := d.to, n.o.Logger.With("to", d.to.name)
	r.sending = false
	if d.err != nil {
		wait := r.backoff.Next()
		r.next = time.Now().Add(wait)
		n.sent.WithLabelValues(r.name, "failed").Inc()
		log.Warn("a message to people could not be delivered", "err", d.err, "next_try_in", wait.Round(time.Second))
		return
	}
	r.backoff.Reset()
	r.next = time.Now().Add(gap)
	n.sent.WithLabelValues(r.name, "sent").Inc()
	log.Info("people were told", "what", d.message.headline(),
		"began", len(d.message.Began), "ended", len(d.message.Ended))
	n.store(ctx, r, d.tell)
}

// store keeps what a recipient knows now.
func (n *Notifier) store(ctx context.Context, r *recipient, tell told) {
	r.told = tell
	value, err := json.Marshal(tell)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
		defer cancel()
		err = n.o.Store.Put(ctx, r.name, value)
	}
	if err != nil {
		n.o.Logger.Warn("what people were told could not be stored: after a restart they may be told again",
			"to", r.name, "err", err)
	}
}

// configure makes the recipients of conf. One that was there before keeps what it was told, also if it was
// before the last start.
func (n *Notifier) configure(conf *config.Notify) {
	n.active = conf
	var next []*recipient
	add := func(name string, about []string, send sender) {
		r := &recipient{name: name, told: told{}, backoff: webhook.Backoff{First: firstRetry, Last: lastRetry}}
		if i := slices.IndexFunc(n.recipients, func(o *recipient) bool { return o.name == name }); i >= 0 {
			r = n.recipients[i] // it may be sending
		} else if err := n.load(r); err != nil {
			n.o.Logger.Warn("what people were told before cannot be read: they may be told again",
				"to", name, "err", err)
		}
		r.about, r.send = about, send
		for what := range r.told {
			if !r.wants(what.Topic) {
				delete(r.told, what)
			}
		}
		for _, result := range []string{"sent", "failed"} {
			n.sent.WithLabelValues(name, result) // zero until the first, so that increase() sees it
		}
		n.conditions.assume(r.told)
		next = append(next, r)
	}
	for _, to := range conf.To {
		send, err := n.sender(to)
		if err != nil { // [Problems] finds it before a configuration becomes active
			n.o.Logger.Error("nobody is told", "to", to.Name, "err", err)
			continue
		}
		add(to.Name, to.About, send)
	}
	if conf.Slip {
		add(config.SlipName, []string{config.TopicStations}, n.printSlips)
	}
	n.recipients = next
}

func (n *Notifier) load(r *recipient) error {
	value, found, err := n.o.Store.Get(r.name)
	if err != nil || !found {
		return err
	}
	return json.Unmarshal(value, &r.told)
}

// printSlips prints what begins.
func (n *Notifier) printSlips(ctx context.Context, m *Message) error {
	for _, e := range m.Began {
		if err := n.o.Slip(ctx, e); err != nil {
			return fmt.Errorf("%s: %w", e.Subject(), err)
		}
	}
	return nil
}
