package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
	"ticketrail/receiver/relay"
)

// source fetches the orders that a relay has taken for this box. What it fetches goes the way of every other order:
// through the receiver into the queue. It never keeps the daemon from starting, because the orders of the webhook need
// no relay.
type source struct {
	sourceOptions
	log *slog.Logger

	mu   sync.Mutex // guards the fields below
	conf config.Source
	end  context.CancelFunc // of what fetches with conf
	// relay fetches, metrics are its own: a reload replaces both. Nil: there is none, because of err.
	relay   *relay.Source
	metrics *prometheus.Registry
	err     error
	since   time.Time // of err
}

// sourceOptions are all required, except Connect.
type sourceOptions struct {
	Queue    *queue.Queue
	Receiver *receiver.Receiver
	Rejects  *receiver.Rejects
	Overview func(context.Context) (admin.Overview, error)
	Connect  func(context.Context, config.Source) (*nats.Conn, error) // see [Options.Relay]
	Logger   *slog.Logger
}

func newSource(o sourceOptions) *source {
	s := &source{sourceOptions: o, log: o.Logger.With("component", "source"), end: func() {}, since: time.Now()}
	if s.Connect == nil {
		s.Connect = func(ctx context.Context, c config.Source) (*nats.Conn, error) {
			return natsaccess.Connect(ctx, natsaccess.Options{URLs: c.NATS, CredentialsFile: c.CredsFile,
				Name: "ticketrail of venue " + c.Venue, Logger: s.log})
		}
	}
	return s
}

// use applies a configuration. If anything of it has changed, the connection is made anew; the request in hand is
// finished before that.
func (s *source) use(c config.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Same(s.conf) {
		return
	}
	s.conf = c
	s.end()
}

// run fetches until ctx ends.
func (s *source) run(ctx context.Context) error {
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

// connectAgain is the pause after credentials that cannot be read: a person has to put them there.
const connectAgain = 5 * time.Second

// fetch fetches with one configuration until ctx ends.
func (s *source) fetch(ctx context.Context, conf config.Source) {
	nc, err := s.dial(ctx, conf)
	for last := ""; err != nil; nc, err = s.dial(ctx, conf) {
		if ctx.Err() != nil {
			return
		}
		if err.Error() != last {
			s.log.Error("no order can be fetched from the relay", "err", err)
			last = err.Error()
		}
		s.set(nil, nil, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(connectAgain):
		}
	}
	defer nc.Close()
	own := prometheus.NewRegistry()
	r := relay.NewSource(relay.SourceOptions{Conn: nc, Venue: conf.Venue, Report: s.report, Logger: s.Logger,
		Registerer: own,
		Take:       func(ctx context.Context, one relay.Arrival) error { return s.take(ctx, conf.Venue, one) }})
	s.set(r, own, nil)
	defer s.set(nil, nil, nil)
	_ = r.Run(ctx) // nil when ctx has ended
}

// dial connects. It does not wait for servers that do not answer when ctx has ended.
func (s *source) dial(ctx context.Context, conf config.Source) (*nats.Conn, error) {
	type result struct {
		nc  *nats.Conn
		err error
	}
	dialled := make(chan result, 1)
	go func() {
		nc, err := s.Connect(ctx, conf)
		dialled <- result{nc, err}
	}()
	select {
	case r := <-dialled:
		return r.nc, r.err
	case <-ctx.Done():
		go func() {
			if r := <-dialled; r.nc != nil {
				r.nc.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func (s *source) set(r *relay.Source, metrics *prometheus.Registry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && err != nil {
		s.since = time.Now()
	}
	s.relay, s.metrics, s.err = r, metrics, err
}

// take stores one request. It returns nil when all of it is on stable storage; only then is the relay told. A crash
// before that leaves it at the relay, a crash after it too: it comes again, and its id is known. What waits for a
// printer holds up nothing here. While the queue is full, or the disk, the requests wait at the relay.
func (s *source) take(ctx context.Context, venue string, one relay.Arrival) error {
	if one.Refused != nil { // by the relay, which has told the service
		r := *one.Refused
		r.Venue, r.Fetched = venue, time.Now().UTC()
		return s.Rejects.Store(ctx, r)
	}
	_, err := s.Receiver.Relay(ctx, receiver.Relayed{Venue: venue, Device: one.Device, Received: one.Received,
		Age: one.Age, Body: one.Body})
	refused, ok := errors.AsType[*receiver.Refused](err)
	if !ok {
		return err
	}
	// The service believes that it was taken, so it must not be lost: it stays at the relay until it is kept here. To
	// read it may have taken longer than ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	if err := s.Rejects.Store(ctx, refused.Reject); err != nil {
		return fmt.Errorf("keep a request that was refused: %w", err)
	}
	return fmt.Errorf("%w: %w", relay.ErrNever, refused)
}

const keepWithin = 4 * time.Second

// report is what the relay is told of this box.
func (s *source) report() relay.Report {
	r := relay.Report{Version: admin.ThisBuild().Version}
	for _, st := range s.Queue.Stations() {
		r.Waiting += st.Pending + st.Printing
		r.Held += st.Held
	}
	ctx, cancel := context.WithTimeout(context.Background(), reportWithin)
	defer cancel()
	o, err := s.Overview(ctx)
	if err != nil { // the database cannot be read
		r.Problems = 1
		return r
	}
	for _, f := range o.Findings {
		if f.Level == admin.Fail && f.Subject != config.TopicRelay { // the relay knows that it was away
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

// findings say how the connection to the relay is; none without a relay.
func (s *source) findings(now time.Time) []finding.Finding {
	s.mu.Lock()
	conf, r, err, since := s.conf, s.relay, s.err, s.since
	s.mu.Unlock()
	if !conf.Enabled() {
		return nil
	}
	f := finding.Finding{ID: "relay/unreachable", Level: finding.Fail, Subject: config.TopicRelay,
		Text: "no order can be fetched", Since: since}
	if r == nil && err == nil {
		f.ID, f.Level, f.Text = "relay/connecting", finding.Warn, "connecting"
		return []finding.Finding{f}
	}
	if r == nil {
		f.ID, f.Detail = "relay/no_credentials", err.Error()
		f.Do = "put the file there that ticketrail relay venues add has made for the venue, mode 0600; the daemon " +
			"reads it by itself"
		return []finding.Finding{f}
	}
	st := r.Status()
	heard := "it has not heard of this box yet"
	if !st.Reported.IsZero() {
		heard = fmt.Sprintf("it heard of this box %s ago", finding.Age(now.Sub(st.Reported)))
	}
	waiting := "1 order waits"
	if st.Behind != 1 {
		waiting = fmt.Sprintf("%d orders wait", st.Behind)
	}
	f.Since = st.Down
	switch {
	case st.Asked.IsZero() && now.Sub(st.Down) < connectingFor:
		f.ID, f.Level, f.Text = "relay/connecting", finding.Warn, "connecting"
	case st.Err != nil && st.Oldest > 0: // one is in hand, so the relay is there
		f.ID, f.Text, f.Detail = "relay/not_taken", waiting+" there: this box cannot take them", st.Err.Error()
		f.Do = "nothing is lost; make room or wait: ticketrail printers list shows what waits, df how full the disk is"
	case st.Err != nil:
		f.Detail = fmt.Sprintf("%v; orders that waited there by then: %d; %s", st.Err, st.Behind, heard)
		f.Do = "the relay keeps the orders; look at the internet connection and at ticketrail doctor"
		if natsaccess.Refused(st.Err) {
			f.ID = "relay/credentials_refused"
			f.Do = "the relay refuses the credentials: make new ones there with ticketrail relay venues renew, " +
				"and put them into " + conf.CredsFile
		}
	case !st.Since.IsZero() && now.Sub(st.Since) > behindFor:
		f.ID, f.Level, f.Since, f.Text = "relay/behind", finding.Warn, st.Since, waiting+" there and are being fetched"
	default:
		f = finding.Finding{Level: finding.OK, Subject: config.TopicRelay, Detail: heard,
			Text: "connected to " + st.Server + ", nothing waits there"}
		if st.Behind > 0 {
			f.Text = fmt.Sprintf("connected to %s, %s there", st.Server, waiting)
		}
	}
	return []finding.Finding{f}
}

// Describe tells nothing: the metrics are those of the connection, if there is one.
func (*source) Describe(chan<- *prometheus.Desc) {}

var descSourceUp = prometheus.NewDesc("ticketrail_source_up", "1 if requests can be fetched from the relay, else 0.",
	nil, nil)

// Collect exports them, or that there is no connection; nothing without a relay.
func (s *source) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	enabled, own := s.conf.Enabled(), s.metrics
	s.mu.Unlock()
	switch {
	case own != nil:
		own.Collect(ch)
	case enabled:
		ch <- gauge(descSourceUp, 0)
	}
}
