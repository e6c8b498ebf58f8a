package queue

import (
	"bytes"
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// entry reads a record of a tree. False: it cannot be read.
func (s *salvage) entry(path string, e element, newest bool) bool {
	value := readAt(s.f, e.value.at, e.value.n)
	if value == nil {
		return false
	}
	top, nested, _ := strings.Cut(path, "\x00")
	name := strings.TrimSuffix(nested, "\x00")
	if path == "" || path == contents(bucketDedup) || path == contents(bucketKV) {
		return false // these have only buckets
	}
	number, ok := un64(e.key), true
	switch top {
	case string(bucketNames[bucketMeta]):
		ok = s.addMeta(e.key, value)
	case string(bucketNames[bucketRequests]):
		ok = s.addBody(number, e.value, value)
	case string(bucketNames[bucketReqJobs]):
		if len(e.key) == 16 {
			s.requests[un64(e.key[8:])] = un64(e.key[:8])
		}
	case string(bucketNames[bucketJobs]):
		ok = s.addTicket(number, e.value, value)
	case string(bucketNames[bucketState]):
		ok = s.addState(number, value, newest)
	case string(bucketNames[bucketWaiting]):
		job, station, err := decodeWaiting(value)
		if ok = err == nil; ok {
			s.waiting[number] = waitingJob{job, station}
		}
	case string(bucketNames[bucketFinished]):
		if len(e.key) == 16 {
			s.finished[un64(e.key[8:])] = un64(e.key[:8])
		}
	case string(bucketNames[bucketStations]):
		var r stationRecord
		if ok = unsealJSON(value, &r) == nil; ok && r.Hold != nil {
			s.holds[string(e.key)] = r.Hold
		}
	case string(bucketNames[bucketDedup]):
		// Also if its value cannot be read: a retry then prints no order.
		if len(e.key) == len(requestKey{}) {
			s.addKey(requestKey(e.key), un64([]byte(name)), e.value)
		}
	case string(bucketNames[bucketQuarantine]):
		s.aside[number] = e.value
	case string(bucketNames[bucketKV]):
		_, err := unseal(value)
		if ok = err == nil; ok {
			if s.kv[name] == nil {
				s.kv[name] = map[string]ref{}
			}
			s.kv[name][string(e.key)] = e.value
		}
	}
	if ok {
		s.records++
	}
	return ok
}

func (s *salvage) addMeta(key, value []byte) bool {
	v, err := unseal(value)
	switch {
	case err != nil:
		return false
	case bytes.Equal(key, keyFormat):
		if n, err := strconv.Atoi(string(v)); err == nil && n > formatVersion {
			s.format = newerFormat(n)
		}
	case bytes.Equal(key, keyClock):
		var r clockRecord
		if unsealJSON(value, &r) != nil {
			return false
		}
		if r.Running > s.clock.Running {
			s.clock = r
		}
	}
	return true
}

func (s *salvage) addBody(request uint64, at ref, value []byte) bool {
	m, _, err := decodeBody(value)
	if err != nil {
		return false
	}
	s.note(bucketRequests, request)
	if _, known := s.bodies[request]; !known {
		s.bodies[request] = at
	}
	s.seen[keyOf(m.Venue, m.ID)] = true
	return true
}

func (s *salvage) addTicket(job uint64, at ref, value []byte) bool {
	t, err := decodePayload(value)
	if err != nil {
		return false
	}
	s.note(bucketJobs, job)
	for _, other := range s.tickets[job] {
		if bytes.Equal(readAt(s.f, other.at, min(other.n, crcSize)), value[:crcSize]) {
			return true
		}
	}
	s.tickets[job] = append(s.tickets[job], at)
	if t.Request != "" {
		s.seen[keyOf(t.Venue, t.Request)] = true
	}
	return true
}

func (s *salvage) addState(job uint64, value []byte, newest bool) bool {
	v, err := decodeState(value)
	if err != nil {
		return false
	}
	s.note(bucketJobs, job)
	s.note(bucketRequests, v.Req)
	if old, known := s.states[job]; !known || !old.tree && old.before(&v) {
		s.states[job] = stateVersion{v, newest}
	}
	return true
}

// before says whether a version of a job is older than another one.
func (s *jobState) before(other *jobState) bool {
	stage := func(s *jobState) int {
		switch s.State {
		case ticket.Pending:
			return 0
		case ticket.Held:
			return 1
		case ticket.Failed: // a person can still cancel or reprint it
			return 2
		}
		return 3
	}
	a, b := stage(s), stage(other)
	return a < b || a == b && s.Attempts+s.Doubts+s.Copies < other.Attempts+other.Doubts+other.Copies
}

func (s *salvage) addKey(k requestKey, generation uint64, at ref) {
	if _, known := s.keys[k]; !known {
		s.keys[k] = keyRef{generation, at}
	}
}

func (s *salvage) note(bucket int, number uint64) {
	name := string(bucketNames[bucket])
	s.highest[name] = max(s.highest[name], number)
}

// readOthers searches all pages that are in no tree for what the trees have lost.
func (s *salvage) readOthers() {
	for id := uint64(2); id < s.count; id++ {
		if s.live[id] {
			continue
		}
		if g, ok := s.read(id); ok && g.flags == leafFlag {
			s.leaf(g, 0, false)
		}
	}
}

// leaf reads the records of a page of which nobody knows to which bucket it belongs. Their form tells.
func (s *salvage) leaf(g *page, generation uint64, inline bool) {
	found, _ := g.all(keyRange{})
	for _, e := range found {
		if e.value.n > s.size {
			// Pages that were forged within a body may all claim the same bytes.
			if s.large += e.value.n; s.large > 4*int64(s.count)*s.size {
				continue
			}
		}
		value := readAt(s.f, e.value.at, e.value.n)
		if value == nil || generation != 0 && len(e.key) != len(requestKey{}) {
			continue
		}
		if e.bucket {
			inner, ok := inlinePage(value, e.value.at)
			switch generation := un64(e.key); {
			case !ok || inline: // only a bucket without others in it is inline
			case generation > 0 && generation < maxNumber:
				s.leaf(inner, generation, true)
			case isBucket(e.key): // a small one, in an older version of the root
				s.leaf(inner, 0, true)
			}
			continue
		}
		if s.loose(e, value, generation) {
			s.records++
		}
	}
}

const (
	// maxNumber is above every number of a job or request. Positions and keys of text are higher.
	maxNumber = 1 << 48
	// minRunning, a quarter of an hour, is above every number of a request that a file can have. Nothing else tells
	// a finished job from the job of a request: both are two numbers without a value. A request that is taken
	// for a finished job could lose a ticket; a finished job that is ignored costs a copy in doubt.
	minRunning = 1e12
)

// loose adds a record if the trees have lost its key.
func (s *salvage) loose(e element, value []byte, generation uint64) bool {
	number := un64(e.key)
	lost := func(bucket int) bool { return s.isLost(contents(bucket), e.key) || s.newer(bucket, number) }
	switch {
	case bytes.Equal(e.key, keyClock) && s.isLost(contents(bucketMeta), e.key):
		return s.addMeta(e.key, value)
	case len(e.key) == 16 && len(value) == 0:
		if running, job := un64(e.key[:8]), un64(e.key[8:]); running >= minRunning && running < 1<<62 &&
			job < maxNumber && s.lostAny(bucketFinished) {
			s.finished[job] = running
		}
	case len(e.key) == len(requestKey{}):
		if _, err := decodeDedup(value); err == nil && s.lostAny(bucketDedup) {
			s.addKey(requestKey(e.key), generation, e.value)
			return true
		}
	case number == 0 || number >= maxNumber:
	case lost(bucketState) && s.addState(number, value, false), lost(bucketJobs) && s.addTicket(number, e.value, value):
		return true
	case s.isLost(contents(bucketRequests), e.key) || s.newer(bucketRequests, number):
		return s.addBody(number, e.value, value)
	}
	return false
}
