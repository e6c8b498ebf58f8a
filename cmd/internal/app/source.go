package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

// relaySource fetches the orders that a relay has taken for this box. A fetched order goes the way of every other
// order: through the receiver into the queue. The source never keeps the daemon from starting, because the orders of
// the webhook need no relay.
type relaySource struct {
	queue    *queue.Queue
	receiver *receiver.Receiver
	rejects  *receiver.Rejects
	all      func(context.Context) ([]finding.Finding, error) // the findings of this box
	log      *slog.Logger

	mu   sync.Mutex // guards the fields below
	conf config.Source
	end  context.CancelFunc // ends the fetching with conf
	// A reload replaces both, the source and its metrics. Nil: there is none.
	source  *source.Source
	metrics *prometheus.Registry
}

// use applies a configuration. If anything of it has changed, the connection is made anew; the request in hand is
// finished before that.
func (s *relaySource) use(c config.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == s.conf {
		return
	}
	s.conf = c
	s.end()
}

// run fetches until ctx ends.
func (s *relaySource) run(ctx context.Context) error {
	for ctx.Err() == nil {
		session, end := context.WithCancel(ctx)
		s.mu.Lock()
		s.end = end
		conf := s.conf
		s.mu.Unlock()
		if conf.Enabled() {
			s.fetch(session, conf)
		}
		<-session.Done()
		end()
	}

	return nil
}

// fetch fetches with one configuration until ctx ends.
func (s *relaySource) fetch(ctx context.Context, conf config.Source) {
	own := prometheus.NewRegistry()
	one := source.New(source.Options{URL: conf.URL, Venue: conf.Venue, Token: conf.Token, Transport: source.Transport(),
		Report: s.report, Logger: s.log, Registerer: own,
		Take: func(ctx context.Context, a source.Arrival) error { return s.take(ctx, conf.Venue, a) }})

	s.set(one, own)
	defer s.set(nil, nil)
	_ = one.Run(ctx) // nil when ctx has ended
}

func (s *relaySource) set(one *source.Source, metrics *prometheus.Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source, s.metrics = one, metrics
}

// take stores one request. It returns nil when all of it is on stable storage; only then is the relay told. A crash
// before that leaves it at the relay, a crash after it too: it comes again, and its id is known. A ticket that waits
// for a printer holds up nothing here. While the queue is full, or the disk, the requests wait at the relay.
func (s *relaySource) take(ctx context.Context, venue string, one source.Arrival) error {
	if one.Refused != nil { // by the relay, which has told the service
		reject := *one.Refused
		reject.Venue, reject.Fetched = venue, time.Now().UTC()
		return s.rejects.Store(ctx, reject)
	}

	_, err := s.receiver.Relay(ctx, receiver.Relayed{Venue: venue, Device: one.Device, Received: one.Received,
		Age: one.Age, Body: one.Body})
	refused, ok := errors.AsType[*receiver.Refused](err)
	if !ok {
		return err
	}

	// The service believes that it was taken, so it must not be lost: it stays at the relay until it is kept here. To
	// read it may have taken longer than ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	if err := s.rejects.Store(ctx, refused.Reject); err != nil {
		return fmt.Errorf("keep a request that was refused: %w", err)
	}

	return fmt.Errorf("%w: %w", source.ErrNever, refused)
}

const keepWithin = 4 * time.Second

// report tells the relay how this box is.
func (s *relaySource) report() source.Report {
	r := source.Report{Version: admin.ThisBuild().Version}
	ctx, cancel := context.WithTimeout(context.Background(), reportWithin)
	defer cancel()
	found, err := s.all(ctx)
	if err != nil { // the database cannot be read
		r.Problems = 1
		return r
	}

	for _, f := range found {
		if f.Level == finding.Fail && f.Subject != config.TopicRelay { // the relay knows that it was away
			r.Problems++
		}
	}
	return r
}

const reportWithin = 5 * time.Second

// connectingFor is how long a start may take until that is a failure.
const connectingFor = 15 * time.Second

// behindFor is how long requests may wait at the relay before that is said: a burst takes seconds.
const behindFor = time.Minute

var errNoAnswer = errors.New("it does not answer")

// findings say how the connection to the relay is; none without a relay.
func (s *relaySource) findings(now time.Time) []finding.Finding {
	s.mu.Lock()
	conf, one := s.conf, s.source
	s.mu.Unlock()
	if !conf.Enabled() {
		return nil
	}

	var st source.Status
	if one != nil { // between two configurations there is none
		st = one.Status()
	}

	found := finding.Finding{Subject: config.TopicRelay, Since: st.Down}
	heard := "it has not heard of this box yet"
	if !st.Reported.IsZero() {
		heard = fmt.Sprintf("it heard of this box %s ago", finding.Age(now.Sub(st.Reported)))
	}

	waiting := "1 order waits"
	if st.Behind != 1 {
		waiting = fmt.Sprintf("%d orders wait", st.Behind)
	}

	switch {
	case one == nil || st.Err == nil && !st.Down.IsZero() && now.Sub(st.Down) < connectingFor:
		found.ID, found.Level, found.Text = "relay/connecting", finding.Warn, "connecting"
	case st.Err != nil && st.Down.IsZero(): // one is in hand, so the relay is there
		found.ID, found.Level, found.Text, found.Detail = "relay/not_taken", finding.Fail,
			waiting+" there: this box cannot take them", st.Err.Error()
		found.Do = "nothing is lost; make room or wait: ticketrail printers list shows what waits, df how full the " +
			"disk is"
	case st.Err != nil || !st.Down.IsZero():
		found = doctor.RelayFinding(conf, cmp.Or(st.Err, errNoAnswer))
		found.Since = st.Down
		found.Detail += fmt.Sprintf("; orders that waited there by then: %d; %s", st.Behind, heard)
	case !st.Since.IsZero() && now.Sub(st.Since) > behindFor:
		found = finding.Finding{ID: "relay/behind", Level: finding.Warn, Subject: config.TopicRelay, Since: st.Since,
			Text: waiting + " there and are being fetched"}
	default:
		found = finding.Finding{Level: finding.OK, Subject: config.TopicRelay, Detail: conf.URL + "; " + heard,
			Text: "connected, nothing waits there"}
		if st.Behind > 0 {
			found.Text = "connected, " + waiting + " there"
		}
	}

	return []finding.Finding{found}
}

// Describe tells nothing: the connection has its own metrics, if there is one.
func (*relaySource) Describe(chan<- *prometheus.Desc) {}

var descSourceUp = prometheus.NewDesc("ticketrail_source_up", "1 if requests can be fetched from the relay, else 0.",
	nil, nil)

// Collect exports them, or that there is no connection; nothing without a relay.
func (s *relaySource) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	enabled, own := s.conf.Enabled(), s.metrics
	s.mu.Unlock()
	switch {
	case own != nil:
		own.Collect(ch)
	case enabled:
		ch <- daemon.Gauge(descSourceUp, 0)
	}
}
