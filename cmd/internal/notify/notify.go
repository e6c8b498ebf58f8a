// Package notify tells people when something needs them, and when it is over: on a phone, by mail, in a
// messenger, to a program, and on paper at a neighbouring station.
//
// It has no opinion of its own. It looks at the findings that `ticketrail status` shows, and tells the differences: the
// journal and the metric ticketrail_finding at once, people after notify.after. Each finding has an identity, so
// nothing new is swallowed by something old. The events of which each recipient was told are stored after each message.
// So the next message is always the difference between them and the present findings: nothing is queued, nothing is
// told twice over a restart, and no message tells of a fault that was over before it could be delivered.
//
// Delivery is best effort: it never delays a ticket, it is tried again for as long as it is true, and it
// is counted. A daemon that does not run tells nothing; monitoring does that.
package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/webhook"
	"ticketrail/queue/kv"
)

const (
	// every is how often the findings are looked at, which reads the history in the database.
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

// Options are the inputs of a [Notifier]. All are required.
type Options struct {
	// Findings are how everything is now.
	Findings func(context.Context) ([]finding.Finding, error)
	// Open reports whether stations must work now. Outside opening hours no message tells that one fails.
	Open func(time.Time) bool
	// PrintNotice prints an event on paper. It is asked only with notify.slip.
	PrintNotice func(context.Context, Event) error
	// Place says where this is, such as "Harbour Grill"; Zone is its time zone.
	Place      func() string
	Zone       func() *time.Location
	Store      kv.Store // the events of which each recipient was told
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// A Notifier tells the recipients of the configuration. Use may be called from any goroutine.
type Notifier struct {
	o    Options
	conf atomic.Pointer[config.Notify]
	sent *prometheus.CounterVec
	// makeSender makes the sender of a recipient; tests replace it.
	makeSender func(config.Recipient) (sender, error)

	mu      sync.Mutex // guards tracked, which only Run changes
	tracked trackedFindings

	// The fields below belong to Run.
	active     *config.Notify
	recipients []*recipient
	done       chan delivery
}

// A delivery is one attempt to send, when it has ended.
type delivery struct {
	to      *recipient
	message *Message
	told    toldEvents // of the recipient if err is nil
	err     error
}

// New prepares a Notifier without recipients.
func New(o Options) *Notifier {
	n := &Notifier{o: o, makeSender: newSender, tracked: trackedFindings{}, done: make(chan delivery)}
	n.sent = promauto.With(o.Registerer).NewCounterVec(
		prometheus.CounterOpts{Name: "ticketrail_notify_messages_total",
			Help: "Messages to people by their recipient; a failed one is tried again while it is still true."},
		[]string{"to", "result"})
	n.conf.Store(&config.Notify{})
	o.Registerer.MustRegister(n)
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
		case ended := <-n.done:
			sending--
			n.noteDelivery(ctx, ended)
		case <-tick.C:
			sending += n.look(ctx)
		}
	}
}

// look looks at the findings once, and begins to send the new ones. It returns how many messages.
func (n *Notifier) look(ctx context.Context) (sending int) {
	if conf := n.conf.Load(); conf != n.active {
		n.mu.Lock()
		n.configure(conf)
		n.mu.Unlock()
	}
	found, err := n.o.Findings(ctx)
	if err != nil { // ctx has ended
		return 0
	}

	now := time.Now()
	open := n.o.Open(now)
	n.mu.Lock()
	n.tracked.update(now, found, n.active.After, open)
	n.log(now)
	n.mu.Unlock()

	for _, r := range n.recipients {
		message, told := r.news(now, n.tracked, n.active.Repeat, open)
		switch {
		case r.sending || now.Before(r.next) || len(message.Began)+len(message.Ended) == 0:
			continue
		case r.name == config.PaperNoticeName && len(message.Began) == 0:
			n.store(ctx, r, told) // paper that says that all is well would only be in the way
			continue
		}

		message.describe(n.o.Place(), now, n.o.Zone())
		r.sending = true
		sending++
		send := r.send // a reload may replace it at any time
		go func() {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			n.done <- delivery{r, message, told, send(ctx, message)}
		}()
	}

	return sending
}

// log writes a line for each finding that has begun, and one when it is over, at its severity.
func (n *Notifier) log(now time.Time) {
	for id, k := range n.tracked {
		level := slog.LevelWarn
		if k.Level == finding.Fail {
			level = slog.LevelError
		}

		switch {
		case !k.inJournal && k.here:
			k.inJournal = true
			n.o.Logger.Log(context.Background(), level, "a finding has begun",
				"finding", id, "cause", k.Text, "detail", k.Detail, "advice", k.Do)
		case k.inJournal && now.Sub(k.lastSeen) >= k.calm:
			k.inJournal = false
			n.o.Logger.Log(context.Background(), level, "a finding is over",
				"finding", id, "cause", k.Text, "lasted", k.lastSeen.Sub(k.Since).Round(time.Second))
		}
	}
}

// AddSince adds since when a finding is there, by the looks up to the last one, if its facts do not say it.
func (n *Notifier) AddSince(found []finding.Finding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, f := range found {
		if known := n.tracked[f.ID]; f.Since.IsZero() && known != nil && known.here {
			found[i].Since = known.Since
		}
	}
}

var descFinding = prometheus.NewDesc("ticketrail_finding",
	"Always 1: something is wrong, as ticketrail status says it; no series when it is over.",
	[]string{"id", "severity"}, nil)

// Describe says which metrics Collect exports.
func (n *Notifier) Describe(ch chan<- *prometheus.Desc) { ch <- descFinding }

// Collect exports the findings of the last look.
func (n *Notifier) Collect(ch chan<- prometheus.Metric) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, k := range n.tracked {
		if k.here {
			ch <- prometheus.MustNewConstMetric(descFinding, prometheus.GaugeValue, 1, id, string(k.Level))
		}
	}
}

// noteDelivery books the end of an attempt.
func (n *Notifier) noteDelivery(ctx context.Context, d delivery) {
	who, log := d.to, n.o.Logger.With("to", d.to.name)
	who.sending = false
	if d.err != nil {
		wait := who.backoff.Next()
		who.next = time.Now().Add(wait)
		n.sent.WithLabelValues(who.name, "failed").Inc()
		log.Warn("a message to people could not be delivered", "err", d.err, "next_try_in", wait.Round(time.Second))
		return
	}

	who.backoff.Reset()
	who.next = time.Now().Add(gap)
	n.sent.WithLabelValues(who.name, "sent").Inc()
	log.Info("people were told", "what", d.message.headline(),
		"began", len(d.message.Began), "ended", len(d.message.Ended))
	n.store(ctx, who, d.told)
}

// store keeps the events of which a recipient was told.
func (n *Notifier) store(ctx context.Context, r *recipient, told toldEvents) {
	r.told = told
	value, err := json.Marshal(told)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
		defer cancel()
		err = n.o.Store.Put(ctx, r.name, value)
	}
	if err != nil {
		n.o.Logger.Warn("the record of messages could not be stored: after a restart people may be told again",
			"to", r.name, "err", err)
	}
}

// configure makes the recipients of conf. One that was there before, also before the last start, keeps the events of
// which it was told.
func (n *Notifier) configure(conf *config.Notify) {
	n.active = conf
	var next []*recipient
	add := func(name string, about []string, send sender) {
		who := &recipient{name: name, told: toldEvents{}, backoff: webhook.Backoff{First: firstRetry, Last: lastRetry}}
		if i := slices.IndexFunc(n.recipients, func(o *recipient) bool { return o.name == name }); i >= 0 {
			who = n.recipients[i] // it may be sending
		} else {
			value, found, err := n.o.Store.Get(name)
			if found {
				err = json.Unmarshal(value, &who.told)
			}
			if err != nil {
				n.o.Logger.Warn("the record of messages cannot be read: people may be told again",
					"to", name, "err", err)
			}
		}

		who.about, who.send = about, send
		for id, before := range who.told {
			// Dropped without a message: an event that an earlier version stored in another form, and one of a topic
			// that the recipient is not told any more.
			if before.ID != id || before.Subject == "" || !who.wants(before) {
				delete(who.told, id)
			}
		}

		for _, result := range []string{"sent", "failed"} {
			n.sent.WithLabelValues(name, result) // zero until the first, so that increase() sees it
		}
		n.tracked.resume(who.told)
		next = append(next, who)
	}

	for _, to := range conf.To {
		send, err := n.makeSender(to)
		if err != nil { // [Problems] finds it before a configuration becomes active
			n.o.Logger.Error("nobody is told", "to", to.Name, "err", err)
			continue
		}
		add(to.Name, to.About, send)
	}

	if conf.Slip {
		add(config.PaperNoticeName, []string{config.TopicStations}, n.printNotices)
	}
	n.recipients = next
}

// printNotices prints the events that begin.
func (n *Notifier) printNotices(ctx context.Context, m *Message) error {
	for _, e := range m.Began {
		if err := n.o.PrintNotice(ctx, e); err != nil {
			return fmt.Errorf("%s: %w", e.Subject, err)
		}
	}
	return nil
}
