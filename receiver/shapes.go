package receiver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// The contract names few fields of an order, so only the orders show which fields a point of sale sends. Their shapes
// are kept for the operator who maps them: paths, counts and one example of each, and never an order.
const (
	// A field is forgotten when none of so many requests had it, and none of the last day: an allergy of this
	// morning is still shown after a busy evening.
	shapeRequests = 200
	shapeTime     = 24 * time.Hour

	maxShapeFields = 400      // of a venue; of more, those that fewest requests had are forgotten, the oldest first
	maxShapeBody   = 64 << 10 // of larger requests, nothing is kept: they wait in memory
	shapesAtOnce   = 200      // not more: looking at a request takes as long as planning it
	shapesASecond  = 10
	maxPath        = 200 // bytes
	maxPathLabels  = 50  // of a venue, in the metric
	storeShapes    = time.Minute
)

// A Shape is which fields the requests of a venue have.
type Shape struct {
	Venue    string  `json:"venue"`    // UUID
	Requests int     `json:"requests"` // whose fields were looked at
	Fields   []Field `json:"fields"`   // by path and use
}

// A Field is one path in the requests of a venue, with the use of its values. A path whose values had different
// uses is several fields.
type Field struct {
	Path     string    `json:"path"`         // keys from the root of the body, without indices
	Use      plan.Use  `json:"use"`          // read, noise, unread or silenced
	As       string    `json:"as,omitempty"` // the key under ticket.fields that read it, or why it is noise
	Example  string    `json:"example"`      // its newest value, without control characters
	Requests int       `json:"requests"`     // that had it
	Last     time.Time `json:"last"`         // when the newest of them came
	Newest   int       `json:"newest"`       // its number among the requests of the venue
}

// ShapeOf is the shape of one request.
func ShapeOf(leaves []plan.Leaf) (s Shape) {
	s.Requests = 1
	for _, l := range leaves {
		s.add(l, time.Now())
	}
	return s
}

// Unread returns the fields that are neither mapped nor silenced.
func (s Shape) Unread() []Field {
	return slices.DeleteFunc(slices.Clone(s.Fields), func(f Field) bool { return f.Use != plan.Unread })
}

// Shapes keeps the shape of each venue's requests. They are looked at after they were answered: shapesAtOnce of many at
// once, then shapesASecond. It stores the shapes at most once a minute, so a crash forgets a minute. It is safe for
// concurrent use.
type Shapes struct {
	kv     kv.Store
	log    *slog.Logger
	rate   *rate.Limiter
	unread *prometheus.CounterVec

	mu     sync.Mutex // guards the fields below, and the venues
	venues map[string]*venueShape
	timer  *time.Timer // will store; nil: nothing has changed
}

type venueShape struct {
	Shape
	changed bool            // it is not stored
	labels  map[string]bool // its paths in the metric
}

// OpenShapes reads the stored shapes; Close stores them. reg may be nil.
func OpenShapes(store kv.Store, log *slog.Logger, reg prometheus.Registerer) (*Shapes, error) {
	shapes := &Shapes{kv: store, log: log, rate: rate.NewLimiter(shapesASecond, shapesAtOnce),
		venues: map[string]*venueShape{},
		unread: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_receiver_unread_fields_total",
			Help: "Print requests with a field that is not mapped, by venue and path; not all of many at once.",
		}, []string{"venue", "path"})}

	err := store.All(func(key string, value []byte) bool {
		var one Shape
		if json.Unmarshal(value, &one) == nil { // a damaged one is collected anew
			shapes.venues[key] = &venueShape{Shape: one, labels: map[string]bool{}}
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read the fields of orders: %w", err)
	}
	return shapes, nil
}

// noteShape has the fields of a stored request looked at, unless too many come. A retry has nothing new.
func (r *Receiver) noteShape(x *exchange, receipt ticket.Receipt) {
	planner, ok := x.policy.Plan.(interface {
		Leaves(contract.PrintRequest) []plan.Leaf
	})
	known := receipt.Duplicate && !receipt.Conflict
	if !ok || r.o.Shapes == nil || known || x.request.Cut || len(x.body) > maxShapeBody || !r.o.Shapes.rate.Allow() {
		return
	}

	defer func() { // the order is stored and printed whatever its fields are
		if p := recover(); p != nil {
			r.log.Error("the fields of a request caused a panic; report this with the stack",
				"err", p, "stack", string(debug.Stack()))
		}
	}()
	r.o.Shapes.look(x.venue.Venue, planner.Leaves(x.request))
}

// look adds the fields of one request.
func (s *Shapes) look(venue plan.Venue, leaves []plan.Leaf) {
	s.mu.Lock()
	defer s.mu.Unlock()

	shape := s.venues[venue.ID]
	if shape == nil {
		shape = &venueShape{Shape: Shape{Venue: venue.ID}, labels: map[string]bool{}}
		s.venues[venue.ID] = shape
	}

	s.change(shape)
	shape.Requests++
	now := time.Now().UTC()
	for _, l := range leaves {
		if shape.add(l, now) && l.Use == plan.Unread {
			s.unread.WithLabelValues(cmp.Or(venue.Name, venue.ID), shape.label(l.Path)).Inc()
		}
	}
	shape.forget(now)
}

// label is a path as the metric has it. Callers choose it, so there is a limit.
func (v *venueShape) label(path string) string {
	path = contract.OneLine(path, maxPath)
	if !v.labels[path] && len(v.labels) >= maxPathLabels {
		return "other"
	}
	v.labels[path] = true
	return path
}

// change has the shape of a venue stored.
func (s *Shapes) change(shape *venueShape) {
	shape.changed = true
	if s.timer == nil {
		s.timer = time.AfterFunc(storeShapes, s.store)
	}
}

// add adds a value to the field that it belongs to. It returns whether it is the first of that field in its request.
func (s *Shape) add(l plan.Leaf, now time.Time) (first bool) {
	field := Field{Path: contract.OneLine(l.Path, maxPath), Use: l.Use}
	i, known := slices.BinarySearchFunc(s.Fields, field, compareFields)
	switch {
	case !known && len(s.Fields) >= 2*maxShapeFields: // one hostile request has so many; forget removes most
		return false
	case !known:
		s.Fields = slices.Insert(s.Fields, i, field)
	}

	at := &s.Fields[i]
	first = at.Newest != s.Requests
	if first {
		at.Requests++
	}
	at.As, at.Last, at.Newest = l.As, now, s.Requests
	if l.Example != "" {
		at.Example = l.Example
	}

	return first
}

func compareFields(a, b Field) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Use, b.Use))
}

// forget removes fields that have not been seen for long, and those that are too many.
func (s *Shape) forget(now time.Time) {
	s.Fields = slices.DeleteFunc(s.Fields, func(f Field) bool {
		return s.Requests-f.Newest >= shapeRequests && now.Sub(f.Last) >= shapeTime
	})
	if len(s.Fields) > maxShapeFields { // a service may have keys that differ in each order
		slices.SortStableFunc(s.Fields, func(a, b Field) int {
			return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(b.Newest, a.Newest))
		})
		s.Fields = s.Fields[:maxShapeFields]
		slices.SortFunc(s.Fields, compareFields)
	}
}

// store stores the shapes that have changed. One that cannot be stored is stored with the next request of its venue.
func (s *Shapes) store() {
	s.mu.Lock()
	values := map[string][]byte{}
	for venue, shape := range s.venues {
		if shape.changed {
			values[venue], _ = json.Marshal(shape.Shape) // it has nothing that JSON cannot have
			shape.changed = false
		}
	}

	s.timer = nil
	s.mu.Unlock()

	// A disk that hangs must not keep Close waiting for ever.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	for venue, value := range values {
		if err := s.kv.Put(ctx, venue, value); err != nil {
			s.log.Warn("the fields of orders could not be stored", "venue", venue, "err", err)
		}
	}
}

// Of returns the shape of a venue's requests.
func (s *Shapes) Of(venue string) Shape {
	s.mu.Lock()
	defer s.mu.Unlock()

	shape := s.venues[venue]
	if shape == nil {
		return Shape{Venue: venue}
	}

	out := shape.Shape
	out.Fields = slices.Clone(out.Fields)
	return out
}

// Forget removes the fields for which gone is true: a reload has changed their use, and the next request
// that has them shows it.
func (s *Shapes) Forget(gone func(Field) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, shape := range s.venues {
		before := len(shape.Fields)
		if shape.Fields = slices.DeleteFunc(shape.Fields, gone); len(shape.Fields) < before {
			s.change(shape)
		}
	}
}

// Close stores the shapes that have changed. No request may be answered any more, so the timer finds nothing later.
func (s *Shapes) Close(context.Context) error {
	s.store()
	return nil
}
