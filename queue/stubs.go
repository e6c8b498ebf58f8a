package queue

import (
	"context"
	"time"

	"ticketrail/queue/ticket"
)

type Queue struct{}
type Lease struct{}
type Shelf struct{}

func Open(o Options) (*Queue, error) { panic("soon") }
func Check(path string) error        { panic("soon") }
func (q *Queue) Close() error        { panic("soon") }
func (q *Queue) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	panic("soon")
}
func (q *Queue) Take(ctx context.Context, station string) (*Lease, error) { panic("soon") }
func (l *Lease) Delivery() ticket.Delivery                                { panic("soon") }
func (l *Lease) Waited() time.Duration                                    { panic("soon") }
func (l *Lease) Begin(ctx context.Context) error                          { panic("soon") }
func (l *Lease) Begun() bool                                              { panic("soon") }
func (l *Lease) Ack(ctx context.Context, proof ticket.Proof, detail string) error {
	panic("soon")
}
func (l *Lease) Retry(ctx context.Context, reason string) error  { panic("soon") }
func (l *Lease) Return(ctx context.Context, reason string) error { panic("soon") }
func (l *Lease) Hold(ctx context.Context, reason string) error   { panic("soon") }
func (l *Lease) Bury(ctx context.Context, reason string) error   { panic("soon") }
func (q *Queue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	panic("soon")
}
func (q *Queue) Jobs(ctx context.Context, f Filter) ([]Job, error) { panic("soon") }
func (q *Queue) Job(ctx context.Context, id uint64) (Job, ticket.Ticket, []byte, error) {
	panic("soon")
}
func (q *Queue) Reprint(ctx context.Context, id uint64, station, reason string) (uint64, error) {
	panic("soon")
}
func (q *Queue) Move(ctx context.Context, ids []uint64, to string) ([]uint64, error) {
	panic("soon")
}
func (q *Queue) MoveAll(ctx context.Context, from, to string) ([]uint64, error)  { panic("soon") }
func (q *Queue) Cancel(ctx context.Context, id uint64, reason string) error      { panic("soon") }
func (q *Queue) HoldStation(ctx context.Context, station, reason string) error   { panic("soon") }
func (q *Queue) ResumeStation(ctx context.Context, station string) error         { panic("soon") }
func (q *Queue) SetStations(names []string)                                      { panic("soon") }
func (q *Queue) Stations() []StationState                                        { panic("soon") }
func (q *Queue) Unaccounted() int64                                              { panic("soon") }
func (q *Queue) Ready() error                                                    { panic("soon") }
func (q *Queue) Waiting() time.Duration                                          { panic("soon") }
func (q *Queue) Damaged() int                                                    { panic("soon") }
func (q *Queue) Shelf(name string) *Shelf                                        { panic("soon") }
func (s *Shelf) Put(ctx context.Context, key string, value []byte) error         { panic("soon") }
func (s *Shelf) Get(key string) ([]byte, bool, error)                            { panic("soon") }
func (s *Shelf) Delete(ctx context.Context, key string) error                    { panic("soon") }
func (s *Shelf) All(f func(key string, value []byte) bool) error                 { panic("soon") }
