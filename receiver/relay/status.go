package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A Report is what a box says of itself to the relay.
type Report struct {
	Version  string `json:"version"`
	Waiting  int    `json:"waiting"`  // tickets that wait for a station
	Held     int    `json:"held"`     // tickets that wait for a person
	Problems int    `json:"problems"` // what a person must see to
}

// A Status is what a box knows of its connection to the relay.
type Status struct {
	Connected bool
	Server    string        // the server's name; empty: none
	Behind    uint64        // requests that wait in the stream, as far as is known
	Since     time.Time     // since when Behind has not been 0; zero: it is
	Oldest    time.Duration // how old the request is that is being taken; 0: none is
	Taken     time.Time     // when a request was last taken; zero: none since the start
	Asked     time.Time     // when the servers last said how much waits; zero: not since the start
	Reported  time.Time     // when the relay last got a report; zero: not since the start
	Down      time.Time     // since when nothing can be fetched; zero: it can
	Err       error         // why nothing is fetched, or why the request at hand is not taken; nil: all is well
}

var errNoServer = errors.New("no server of the relay can be reached")

// noServer says why there is no connection, if that is known.
func noServer(nc *nats.Conn) error {
	if last := nc.LastError(); last != nil {
		return fmt.Errorf("%w: %w", errNoServer, last)
	}
	return errNoServer
}

// sourceState is what a Source knows.
type sourceState struct {
	metrics *sourceMetrics

	mu       sync.Mutex // guards the fields below
	status   Status     // without Connected, Server and Oldest
	fetchErr error      // why nothing is fetched
	takeErr  error      // why the request at hand is not taken
	stored   time.Time  // when the request at hand was stored; zero: there is none
	server   time.Time  // the server's clock, when it was asked
	at       time.Time  // when that was; only its monotonic part is used
}

// Status returns what is known now.
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Connected = s.o.Conn.IsConnected()
	if status.Connected {
		status.Server = s.o.Conn.ConnectedServerName()
	}
	if !s.stored.IsZero() {
		status.Oldest = s.ageLocked(s.stored)
	}
	if !status.Connected && status.Down.IsZero() { // fetching waits for the connection to come back
		status.Down = status.Asked
	}
	switch {
	case s.takeErr != nil:
		status.Err = s.takeErr
	case status.Connected:
		status.Err = s.fetchErr
	default: // why nothing is fetched then is a consequence
		status.Err = noServer(s.o.Conn)
	}
	return status
}

// failed notes why nothing is fetched, and says whether that is new.
func (s *sourceState) failed(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isNew := s.fetchErr == nil || s.fetchErr.Error() != err.Error()
	s.fetchErr = err
	if s.status.Down.IsZero() {
		s.status.Down = time.Now()
	}
	return isNew
}

// recovered says whether nothing could be fetched before.
func (s *sourceState) recovered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.fetchErr != nil
	s.fetchErr, s.status.Down = nil, time.Time{}
	return was
}

// refusedToTake notes why the request at hand is not taken, and says whether that is new.
func (s *sourceState) refusedToTake(err error) bool {
	s.metrics.failures.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	isNew := s.takeErr == nil || s.takeErr.Error() != err.Error()
	s.takeErr = err
	return isNew
}

func (s *sourceState) asked(info *jetstream.ConsumerInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.at = info.TimeStamp, time.Now()
	s.status.Asked = s.at
	s.behind(info.NumPending + uint64(info.NumAckPending))
}

// begun notes the request at hand.
func (s *sourceState) begun(meta *jetstream.MsgMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = meta.Timestamp
	s.behind(meta.NumPending + 1)
}

func (s *sourceState) took() {
	s.metrics.taken.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Taken = time.Now()
	s.behind(max(s.status.Behind, 1) - 1)
}

// ended notes that there is no request at hand.
func (s *sourceState) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored, s.takeErr = time.Time{}, nil
}

func (s *sourceState) behind(n uint64) {
	s.status.Behind = n
	switch {
	case n == 0:
		s.status.Since = time.Time{}
	case s.status.Since.IsZero():
		s.status.Since = time.Now()
	}
}

// age is how long ago the servers stored a message, by their clocks.
func (s *sourceState) age(stored time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ageLocked(stored)
}

func (s *sourceState) ageLocked(stored time.Time) time.Duration {
	return max(0, s.server.Add(time.Since(s.at)).Sub(stored))
}

// report tells the relay how the box is until ctx ends, and asks how much waits.
func (s *Source) report(ctx context.Context) {
	for {
		if err := s.reportOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("the relay got no report", "err", err) // Run says why nothing works
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(jitter(reportTime)):
		}
	}
}

func (s *Source) reportOnce(ctx context.Context) error {
	value, err := json.Marshal(s.o.Report())
	if err != nil {
		return err
	}
	attempt, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m := &nats.Msg{Subject: "$KV." + BoxesBucket + "." + s.o.Venue, Data: value}
	if _, err := s.js.PublishMsg(attempt, m); err != nil {
		return err
	}
	s.mu.Lock()
	s.status.Reported = time.Now()
	s.mu.Unlock()
	_, err = s.ask(ctx)
	return err
}

type sourceMetrics struct{ taken, failures, givenUp prometheus.Counter }

// newSourceMetrics makes the metrics of the box's side. reg may be nil.
func newSourceMetrics(s *Source, reg prometheus.Registerer) *sourceMetrics {
	f := promauto.With(reg)
	gauge := func(name, help string, value func(Status) float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "ticketrail_source_" + name, Help: help},
			func() float64 { return value(s.Status()) })
	}
	when := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.UnixMilli()) / 1000
	}
	gauge("up", "1 if requests can be fetched from the relay, else 0.", func(st Status) float64 {
		if st.Connected && st.Err == nil {
			return 1
		}
		return 0
	})
	gauge("behind_requests", "Requests that wait in the relay's stream, as far as is known.",
		func(st Status) float64 { return float64(st.Behind) })
	gauge("oldest_request_age_seconds", "Age of the request that is being taken; 0 if none is.",
		func(st Status) float64 { return st.Oldest.Seconds() })
	gauge("last_taken_timestamp_seconds", "When a request was last taken from the relay; 0 if none since the start.",
		func(st Status) float64 { return when(st.Taken) })
	gauge("last_report_timestamp_seconds", "When the relay last got a report of this box; 0 if not since the start.",
		func(st Status) float64 { return when(st.Reported) })
	return &sourceMetrics{
		taken: f.NewCounter(prometheus.CounterOpts{Name: "ticketrail_source_taken_total",
			Help: "Requests that were taken from the relay's stream, those that came again included."}),
		failures: f.NewCounter(prometheus.CounterOpts{Name: "ticketrail_source_take_failures_total",
			Help: "Attempts to store a request of the relay that failed and are made again."}),
		givenUp: f.NewCounter(prometheus.CounterOpts{Name: "ticketrail_source_given_up_total",
			Help: "Requests of the relay that can never be taken; they are kept with the refused ones."}),
	}
}
