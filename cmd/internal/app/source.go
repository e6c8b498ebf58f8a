package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

// relaySource fetches the orders that a relay has taken for this box. A fetched order goes the way of every other
// order: through the receiver into the queue. The source never keeps the daemon from starting, because the orders of
// the webhook need no relay.
type relaySource struct {
	conf     config.Source
	receiver *receiver.Receiver
	rejects  *receiver.Rejects
	all      func(context.Context) ([]finding.Finding, error) // the findings of this box
	source   *source.Source
}

func newRelaySource(conf config.Source, r *receiver.Receiver, rejects *receiver.Rejects,
	all func(context.Context) ([]finding.Finding, error), log *slog.Logger,
) *relaySource {
	s := &relaySource{conf: conf, receiver: r, rejects: rejects, all: all}
	s.source = source.New(source.Options{URL: conf.URL, Venue: conf.Venue, Token: conf.Token,
		Transport: source.Transport(), Take: s.take, Report: s.report, Logger: log})
	return s
}

// run fetches until ctx ends.
func (s *relaySource) run(ctx context.Context) error {
	if !s.conf.Enabled() {
		return nil
	}
	return s.source.Run(ctx)
}

// take stores one request. It returns nil when all of it is on stable storage; only then is the relay told. A crash
// before that leaves it at the relay, a crash after it too: it comes again, and its id is known. A ticket that waits
// for a printer holds up nothing here. While the queue is full, or the disk, the requests wait at the relay.
func (s *relaySource) take(ctx context.Context, one source.Arrival) error {
	if one.Refused != nil { // by the relay, which has told the service
		reject := *one.Refused
		reject.Venue, reject.Fetched = s.conf.Venue, time.Now().UTC()
		return s.rejects.Store(ctx, reject)
	}

	_, err := s.receiver.Relay(ctx, one.Relayed)
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
		r.Problems++
	}
	for _, f := range found {
		if f.Level == finding.Fail && f.Subject != config.TopicRelay { // the relay knows that it was away
			r.Problems++
		}
	}
	return r
}

const reportWithin = 5 * time.Second

// behindFor is how long requests may wait at the relay before that is said: a burst takes seconds.
const behindFor = time.Minute

// findings say how the connection to the relay is; none without a relay.
func (s *relaySource) findings(now time.Time) []finding.Finding {
	conf, st := s.conf, s.source.Status()
	if !conf.Enabled() {
		return nil
	}

	var found finding.Finding
	heard := "it has not heard of this box yet"
	if !st.Reported.IsZero() {
		heard = fmt.Sprintf("it heard of this box %s ago", finding.Age(now.Sub(st.Reported)))
	}
	waiting := fmt.Sprintf("orders that wait there: %d", st.Behind)

	switch {
	case st.Err == nil && !st.Down.IsZero(): // since the start, for some seconds
		found = finding.New("relay/connecting", finding.Warn, "connecting", "", "")
	case st.Err != nil && st.Down.IsZero(): // one is in hand, so the relay is there
		found = finding.New("relay/not_taken", finding.Fail, "this box cannot take its orders",
			waiting+"; "+st.Err.Error(), "nothing is lost; make room or wait: ticketrail printers list shows what "+
				"waits, df how full the disk is")
	case st.Err != nil:
		found = doctor.RelayFinding(conf, st.Err)
		found.Detail += "; by then, " + waiting + "; " + heard
	case !st.Since.IsZero() && now.Sub(st.Since) > behindFor:
		found = finding.New("relay/behind", finding.Warn, "orders are being fetched", waiting, "")
	default:
		found = finding.Fine(config.TopicRelay, "connected, "+waiting)
		found.Detail = conf.URL + "; " + heard
	}

	found.Since = cmp.Or(st.Down, st.Since)
	return []finding.Finding{found}
}

// Describe names nothing: without a relay there are no metrics.
func (*relaySource) Describe(chan<- *prometheus.Desc) {}

// Collect exports the state of the connection, if there is a relay.
func (s *relaySource) Collect(ch chan<- prometheus.Metric) {
	conf, st := s.conf, s.source.Status()
	if !conf.Enabled() {
		return
	}

	export := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("ticketrail_source_"+name, help, nil, nil), kind, value)
	}
	export(prometheus.GaugeValue, "up", "1 if requests can be fetched from the relay, else 0.",
		daemon.Truth(st.Err == nil && st.Down.IsZero()))
	export(prometheus.GaugeValue, "behind_requests", "Requests that wait at the relay, as far as is known.",
		float64(st.Behind))
	export(prometheus.GaugeValue, "oldest_request_age_seconds", "Age of the request that is being taken; 0 if none is.",
		st.Oldest.Seconds())
	export(prometheus.GaugeValue, "last_taken_timestamp_seconds",
		"When a request was last taken from the relay; 0 if none since the start.", daemon.UnixSeconds(st.Taken))
	export(prometheus.GaugeValue, "last_report_timestamp_seconds",
		"When the relay last heard of this box; 0 if not since the start.", daemon.UnixSeconds(st.Reported))
	export(prometheus.CounterValue, "taken_total",
		"Requests that were taken from the relay, those that came again included.", float64(st.TakenTotal))
	export(prometheus.CounterValue, "take_failures_total",
		"Attempts to store a request of the relay that failed and are made again.", float64(st.Failures))
	export(prometheus.CounterValue, "given_up_total",
		"Requests of the relay that can never be taken; they are kept with the refused ones.", float64(st.GivenUp))
}
