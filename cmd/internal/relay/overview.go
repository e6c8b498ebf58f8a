package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	store "ticketrail/receiver/relay"
)

// An Overview is how all venues and the servers are at one moment.
type Overview struct {
	At       time.Time         `json:"at"`
	Findings []finding.Finding `json:"findings"` // the worst first
	Stream   store.State       `json:"stream"`
	Sites    []Site            `json:"sites"`            // first those that were not heard of for longest
	Behind   []string          `json:"behind,omitempty"` // servers that do not have everything
	removed  []string          // ids of venues
}

// A Site is a venue and its box.
type Site struct {
	store.Site
	Online bool  `json:"online"`         // its box was heard of just now
	Open   *bool `json:"open,omitempty"` // by its opening hours; null: they are not known
}

const (
	// onlineFor is two polls of a box, and some time.
	onlineFor = 75 * time.Second
	// offlineFor is how long a box may be away before a person must look: a restart of a router takes less.
	offlineFor = 5 * time.Minute
	// stuckFor is how long an order may wait at the relay although its box is there.
	stuckFor = 5 * time.Minute
	// twoBoxesFor is how long two boxes with one token are remembered.
	twoBoxesFor = 10 * time.Minute
	// The stream refuses orders when it is full.
	nearlyFull, almostFull = 0.7, 0.9
)

// look asks the servers. After an error, it has the part that could be read.
func look(ctx context.Context, s *store.Stream, boxes map[string]store.Box) (Overview, error) {
	state, stateErr := s.State(ctx)
	sites, removed, err := s.Sites(ctx, boxes)
	o := overview(time.Now(), state, sites)
	o.removed = removed
	return o, errors.Join(stateErr, err)
}

func overview(now time.Time, state store.State, sites []store.Site) Overview {
	o := Overview{At: now, Stream: state}
	for _, s := range sites {
		site := Site{Site: s, Online: now.Sub(s.LastSeen) < onlineFor}
		v := configured(s.VenueEntry)
		if zone, err := time.LoadLocation(v.Timezone); err == nil && v.Timezone != "" && len(v.Hours) > 0 {
			open := v.OpenAt(now.In(zone))
			site.Open = &open
		}
		o.Sites = append(o.Sites, site)
	}
	slices.SortStableFunc(o.Sites, func(a, b Site) int {
		return cmp.Or(a.LastSeen.Compare(b.LastSeen), strings.Compare(a.Name, b.Name))
	})

	for _, s := range o.Sites {
		o.findSite(s)
	}
	if state.Servers > 0 { // otherwise the stream could not be read
		o.findStream()
		o.findServers()
	}
	slices.SortStableFunc(o.Findings, finding.WorstFirst)
	return o
}

// find adds a finding about the first word of its id, which stays the same while the numbers in its text change.
func (o *Overview) find(id string, level finding.Level, text, do string) {
	subject, _, _ := strings.Cut(id, "/")
	o.Findings = append(o.Findings, finding.Finding{ID: id, Level: level, Subject: subject, Text: text, Do: do})
}

func (o *Overview) findSite(s Site) {
	find := func(what string, level finding.Level, text, do string) {
		o.find("venue/"+s.ID+"/"+what, level, s.Name+text, do)
	}
	away, silent, waits := o.At.Sub(s.LastSeen), "was never heard of", ""
	if !s.LastSeen.IsZero() {
		silent = "was not heard of for " + finding.Age(away)
	}
	if s.Waiting > 0 {
		waits = fmt.Sprintf("; %d requests wait, the oldest for %s", s.Waiting, finding.Age(o.At.Sub(s.Oldest)))
	}

	if o.At.Sub(s.TwoBoxes) < twoBoxesFor {
		find("two_boxes", finding.Fail, ": two boxes fetch its orders with the same token, and each gets a part",
			"switch one of them off; if one was lost, ticketrail relay venues renew "+s.ID)
	}

	switch {
	case s.Waiting > 0 && o.Stream.MaxAge > 0 && o.At.Sub(s.Oldest) > o.Stream.MaxAge*3/4:
		find("loses_orders", finding.Fail, " is about to lose orders: a request is kept for "+
			finding.Age(o.Stream.MaxAge)+waits, "bring its box online, or raise nats.dedup_retention")
	case away > offlineFor && (s.Waiting > 0 || s.Open != nil && *s.Open):
		find("box_away", finding.Fail, ": its box "+silent+waits, "call the venue: is the box on, is it online?")
	case away > offlineFor && s.Open == nil:
		find("box_away", finding.Warn, ": its box "+silent, "")
	case s.Online && s.Waiting > 0 && o.At.Sub(s.Oldest) > stuckFor:
		find("not_taken", finding.Fail, ": its box is there and takes nothing"+waits,
			"run ticketrail status on the box")
	case s.Online && s.Report.Problems > 0:
		find("box_problems", finding.Warn, ": its box needs a person", "run ticketrail status on the box")
	}
}

func (o *Overview) findStream() {
	st := o.Stream
	used, text := 0.0, fmt.Sprintf("%d requests", st.Messages)
	if st.MaxBytes > 0 {
		used = float64(st.Bytes) / float64(st.MaxBytes)
		text += fmt.Sprintf(", %.0f%% of %s", 100*used, config.Size(st.MaxBytes))
	}
	const do = "raise nats.max_bytes, if the servers have the disk, or lower nats.dedup_retention"

	switch {
	case used > almostFull:
		o.find("stream/full", finding.Fail, "nearly full, and a full one refuses orders: "+text, do)
	case used > nearlyFull:
		o.find("stream/fills", finding.Warn, text, do)
	default:
		o.Findings = append(o.Findings, finding.Fine("stream", text))
	}

	if st.Differs != "" {
		o.find("stream/differs", finding.Warn, "it is not as this relay.yaml says: "+st.Differs,
			"correct the file; or restart a relay, with --shrink if the stream shall become smaller")
	}
}

func (o *Overview) findServers() {
	behind, online := slices.Clone(o.Stream.Behind), 0
	for _, s := range o.Sites {
		behind = append(behind, s.Behind...)
		if s.Online {
			online++
		}
	}
	text := fmt.Sprintf("%d of %d boxes are online", online, len(o.Sites))
	o.Findings = append(o.Findings, finding.Fine("venues", text))

	slices.Sort(behind)
	if o.Behind = slices.Compact(behind); len(o.Behind) == 0 {
		text = fmt.Sprintf("%d of %[1]d have every request", o.Stream.Servers)
		o.Findings = append(o.Findings, finding.Fine("servers", text))
		return
	}
	o.find("servers/behind", finding.Fail, strings.Join(o.Behind, ", ")+" is down or behind: if another one ends "+
		"too, no orders are accepted", "curl http://127.0.0.1:8222/healthz there says how it is; if its disk is full, "+
		"make room, then systemctl restart nats-server")
}

// statusWithin is for all questions of a status, whatever is down.
const statusWithin = 2500 * time.Millisecond

// Status asks the servers and the relays how everything is, and says which of it could not be read. It changes nothing.
func Status(ctx context.Context, conf *config.Relay) Overview {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	var wg sync.WaitGroup

	nodes := make([]error, len(conf.NATS.URLs))
	for i, url := range conf.NATS.URLs {
		wg.Go(func() {
			nc, err := connectOnce(conf.NATS, time.Second, url)
			if err == nil {
				nc.Close()
			}
			nodes[i] = err
		})
	}
	overview, err := ask(ctx, conf)
	wg.Wait()

	overview.At = time.Now()
	for i := range overview.Sites {
		overview.Sites[i].Token = "" // its hash is for the relays
	}
	if err != nil { // nothing is fine that could not be read
		overview.Findings = slices.DeleteFunc(overview.Findings, func(f finding.Finding) bool {
			return f.Level == finding.OK
		})
		overview.find("servers/unread", finding.Fail, "not everything could be read: "+
			strings.ReplaceAll(err.Error(), "\n", "; "), "look at the nodes: systemctl status nats-server")
	}

	for i, err := range nodes {
		if err != nil {
			node := conf.NATS.URLs[i]
			overview.find("servers/node/"+node, finding.Fail, fmt.Sprintf("node %s cannot be read: %v", node, err),
				"look there: systemctl status nats-server")
		}
	}
	slices.SortStableFunc(overview.Findings, finding.WorstFirst)
	return overview
}

// ask reads as much as it can. The venues get the time that the stream leaves.
func ask(ctx context.Context, conf *config.Relay) (o Overview, err error) {
	each := statusWithin / 2 / time.Duration(len(conf.NATS.URLs)) // it tries one after the other
	servers, err := attach(ctx, conf, each)
	if err != nil {
		return o, err
	}
	defer servers.Close()

	limited, cancel := context.WithTimeout(ctx, 500*time.Millisecond) // all relays that run report at once
	defer cancel()
	boxes, relays, boxesErr := servers.stream.Boxes(limited)
	o, err = look(ctx, servers.stream, boxes)
	if relays == 0 {
		o.find("relays/none", finding.Fail, "no relay answers: no order is taken, and no box can fetch one",
			"systemctl status ticketrail-relay on each")
	}
	return o, errors.Join(boxesErr, err)
}
