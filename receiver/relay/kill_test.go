package relay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay/natstest"
)

const (
	// killTestBox tells the process that is killed where its queue is, its venue and the servers.
	killTestBox = "RELAY_TEST_BOX"
	// killRounds is the environment variable for more kills than a quick run has.
	killRounds = "TICKETRAIL_TEST_RELAY_KILLS"
)

// TestA200OfTheRelayIsAPromise kills servers, relays and boxes, under load, at moments of chance's choosing. Every
// request that was answered 200 is in the queue of its box, once, and the queue has the order of the stream.
func TestA200OfTheRelayIsAPromise(t *testing.T) {
	if arguments := os.Getenv(killTestBox); arguments != "" {
		boxUntilKilled(t, arguments)
		return
	}
	t.Parallel()
	// A quick run has each kind. A leader that is killed is missed for seconds.
	victims := []string{"relay", "box", "leader", "box", "node", "relay"}
	kinds := slices.Clone(victims)
	for n, _ := strconv.Atoi(os.Getenv(killRounds)); len(victims) < n; {
		victims = append(victims, kinds[rand.IntN(len(kinds))])
	}
	k := newKillTest(t)
	k.work()
	killed := map[string]int{}
	for _, victim := range victims {
		k.waitForAcks(1 + rand.Int64N(40))
		time.Sleep(rand.N(20 * time.Millisecond)) // a random moment, not a wait for anything
		switch victim {
		case "leader":
			k.killNode(k.leader())
		case "node":
			k.killNode(rand.IntN(len(k.c.URLs())))
		case "box":
			k.killBox(rand.IntN(len(k.boxes)))
		case "relay":
			k.killRelay(rand.IntN(len(k.relays)))
		}
		killed[victim]++
	}
	k.waitForAcks(20)
	k.stop.Store(true)
	k.senders.Wait()
	t.Logf("killed %v; %d requests answered 200, %d given up", killed, k.acks.Load(), k.lost.Load())
	k.check()
}

// boxUntilKilled is a box: it takes what the relay has into a queue, as the daemon does.
func boxUntilKilled(t *testing.T, arguments string) {
	a := strings.Split(arguments, "|")
	q, err := queue.Open(queue.Options{Path: a[0], Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	nc := connect(t, strings.Split(a[2], ",")...)
	take := func(ctx context.Context, one Arrival) error {
		_, err := q.Accept(ctx, ticket.Request{Venue: a[1], ID: one.ID, Device: one.Device, Received: one.Received,
			Body: one.Body, Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{Request: one.ID}}}})
		return err
	}
	s := NewSource(SourceOptions{Conn: nc, Venue: a[1], Take: take, Report: func() Report { return Report{} }})
	_ = s.Run(context.Background())
}

type killTest struct {
	*testing.T
	c      *natstest.Cluster
	relays []*relayProcess
	boxes  []*boxProcess

	stop       atomic.Bool
	acks, lost atomic.Int64
	senders    sync.WaitGroup
	newAck     chan struct{} // receives after every 200

	mu     sync.Mutex
	tried  map[string]bool
	chains [][]string // what each sender had answered 200, in order
}

// A relayProcess is a connection, with all that a relay has in memory: nothing.
type relayProcess struct {
	mu sync.RWMutex
	s  *Stream
}

type boxProcess struct {
	venue, path string
	process     *exec.Cmd
}

func newKillTest(t *testing.T) *killTest {
	c := natstest.ForTest(t, 3, nil)
	k := &killTest{T: t, c: c, newAck: make(chan struct{}, 1), tried: map[string]bool{}}
	for range 2 {
		k.relays = append(k.relays, &relayProcess{s: openStream(t, c, connect(t, c.URLs()...))})
	}
	for i := range 2 {
		b := &boxProcess{venue: addVenue(t, k.relays[0].s)}
		b.path = filepath.Join(t.TempDir(), fmt.Sprintf("box%d.db", i))
		k.boxes = append(k.boxes, b)
		k.startBox(b)
		t.Cleanup(func() { k.endBox(b) })
	}
	return k
}

func (k *killTest) startBox(b *boxProcess) {
	b.process = exec.Command(os.Args[0], "-test.run=^"+k.Name()+"$")
	b.process.Env = append(os.Environ(), killTestBox+"="+b.path+"|"+b.venue+"|"+strings.Join(k.c.URLs(), ","))
	b.process.Stdout, b.process.Stderr = os.Stdout, os.Stderr
	if err := b.process.Start(); err != nil {
		k.Fatal(err)
	}
}

func (k *killTest) endBox(b *boxProcess) {
	_ = b.process.Process.Kill()
	_ = b.process.Wait()
}

func (k *killTest) killBox(i int) {
	k.endBox(k.boxes[i])
	k.startBox(k.boxes[i])
}

// killNode kills a server and starts it again a moment later. Meanwhile the others work.
func (k *killTest) killNode(i int) {
	k.c.Kill(i)
	k.waitForAcks(rand.Int64N(20))
	if err := k.c.Start(k.Context(), i); err != nil {
		k.Fatal(err)
	}
}

// leader is the node that leads the stream.
func (k *killTest) leader() int {
	for {
		ctx, cancel := context.WithTimeout(k.Context(), time.Second)
		state, err := k.relays[0].s.State(ctx)
		cancel()
		if i := k.c.Node(state.Leader); err == nil && i >= 0 {
			return i
		}
	}
}

// killRelay cuts a relay off in the middle of its publishes. The next one has nothing of it.
func (k *killTest) killRelay(i int) {
	r := k.relays[i]
	r.s.nc.Close()
	nc := connect(k.T, k.c.URLs()...)
	for {
		s, err := Open(k.Context(), nc, testOptions(3))
		if err == nil {
			r.mu.Lock()
			r.s = s
			r.mu.Unlock()
			return
		}
		k.Logf("a relay starts: %v", err)
	}
}

func (r *relayProcess) accept(one ticket.Request) error {
	r.mu.RLock()
	s := r.s
	r.mu.RUnlock()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	_, err := s.Accept(ctx, one)
	return err
}

// work starts the service: for each venue some tills, each of which sends its orders one after the other, with
// three retries, through any relay.
func (k *killTest) work() {
	const tills = 4
	k.chains = make([][]string, len(k.boxes)*tills)
	for i := range k.chains {
		k.senders.Go(func() { k.send(i, k.boxes[i/tills].venue) })
	}
}

func (k *killTest) send(sender int, venue string) {
	for n := 0; !k.stop.Load(); n++ {
		id := fmt.Sprintf("%d-%d", sender, n)
		k.mu.Lock()
		k.tried[id] = true
		k.mu.Unlock()
		one := request(venue, id, "soup")
		ok := false
		for try := 0; try <= 3 && !ok; try++ {
			time.Sleep(time.Duration(try*try) * 20 * time.Millisecond) // the service's backoff, shortened
			ok = k.relays[rand.IntN(len(k.relays))].accept(one) == nil
		}
		if !ok {
			k.lost.Add(1)
			continue
		}
		k.mu.Lock()
		k.chains[sender] = append(k.chains[sender], id)
		k.mu.Unlock()
		k.acks.Add(1)
		select {
		case k.newAck <- struct{}{}:
		default:
		}
	}
}

// waitForAcks waits for n more requests that are answered 200.
func (k *killTest) waitForAcks(n int64) {
	k.Helper()
	n += k.acks.Load()
	end := time.After(testTime) // without an answer: how many come in a time depends on the machine
	for k.acks.Load() < n {
		select {
		case <-k.newAck:
			end = time.After(testTime)
		case <-end:
			k.Fatalf("only %d of %d requests were answered", k.acks.Load(), n)
		}
	}
}

// check waits until the boxes have all, and compares their queues with the stream and with the answers.
func (k *killTest) check() {
	restart(k.T, k.c)
	s := k.relays[0].s
	for least := uint64(math.MaxUint64); least > 0; {
		waitFor(k.T, fmt.Sprintf("fewer than %d requests wait for a box", least), func() bool {
			ctx, cancel := context.WithTimeout(k.Context(), 5*time.Second)
			defer cancel()
			sites, err := s.Sites(ctx)
			waiting := uint64(0)
			for _, one := range sites {
				waiting += one.Waiting
			}
			if err != nil || waiting >= least {
				return false
			}
			least = waiting
			return true
		})
	}
	place := map[string]int{} // of each id in its box's queue
	for _, b := range k.boxes {
		k.endBox(b)
		got := idsOfQueue(k.T, b.path)
		if want := idsOfStream(k.T, s, b.venue); !slices.Equal(got, want) {
			k.Errorf("venue %s: the queue has %d requests, the stream %d, or their order differs", b.venue, len(got),
				len(want))
		}
		for i, id := range got {
			if _, twice := place[id]; twice || !k.tried[id] {
				k.Errorf("%s is in the queue, twice: %t, sent: %t", id, twice, k.tried[id])
			}
			place[id] = i
		}
	}
	for _, chain := range k.chains {
		if len(chain) == 0 {
			k.Error("a till got nothing through: the test proved less than it says")
		}
		last := -1
		for _, id := range chain {
			i, ok := place[id]
			if !ok {
				k.Errorf("%s was answered 200 and is not in the queue", id)
			} else if i <= last {
				k.Errorf("%s overtook an order that was answered before it was sent", id)
			}
			last = i
		}
	}
}

// idsOfQueue lists the requests of a queue in the order in which they print.
func idsOfQueue(t *testing.T, path string) (ids []string) {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	jobs, err := q.Jobs(t.Context(), queue.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(jobs, func(a, b queue.Job) int { return int(a.ID) - int(b.ID) })
	for _, j := range jobs {
		ids = append(ids, j.Request)
	}
	return ids
}

// idsOfStream lists the requests of a venue in the order in which they were stored.
func idsOfStream(t *testing.T, s *Stream, venue string) (ids []string) {
	t.Helper()
	of := jetstream.WithGetMsgSubject(ofVenue(venue))
	for next := uint64(1); ; {
		var m *jetstream.RawStreamMsg
		var err error
		waitFor(t, "the stream can be read", func() bool {
			m, err = s.stream.GetMsg(t.Context(), next, of)
			return err == nil || errors.Is(err, jetstream.ErrMsgNotFound)
		})
		if err != nil {
			return ids
		}
		ids, next = append(ids, unquote(m.Header.Get(headerID))), m.Sequence+1
	}
}
