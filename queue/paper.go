package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// What has printed under a key is stored beside its dedupRecord, under the key and one byte more. So it is
// read only when other content comes, expires with the key, and a key of an earlier version has none.

// paperKey follows the key at once, so that both are on the same page of the file.
func paperKey(k requestKey) []byte { return append(k[:], 'p') }

const paperPartial = 1 // flag

// encodePaper stores flags, then the lines.
func encodePaper(p ticket.Paper) []byte {
	b := []byte{0}
	if p.Partial {
		b[0] = paperPartial
	}
	for _, l := range p.Lines {
		b = binary.BigEndian.AppendUint64(b, l.Key)
		b = binary.BigEndian.AppendUint64(b, l.Above)
		for _, n := range []int64{l.Amount, l.Voided, l.Off, l.Again, int64(len(l.Name))} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = append(b, l.Name...)
	}
	return seal(b)
}

func decodePaper(b []byte) (ticket.Paper, error) {
	bad := errors.New("what has printed is not readable")
	raw, err := unseal(b)
	if err != nil {
		return ticket.Paper{}, err
	}
	if len(raw) == 0 {
		return ticket.Paper{}, bad
	}
	p := ticket.Paper{Partial: raw[0]&paperPartial != 0}
	for raw = raw[1:]; len(raw) > 0; {
		if len(raw) < 16 {
			return ticket.Paper{}, bad
		}
		l := ticket.PaperLine{Key: binary.BigEndian.Uint64(raw), Above: binary.BigEndian.Uint64(raw[8:])}
		raw = raw[16:]
		var numbers [5]uint64
		for i := range numbers {
			n, size := binary.Uvarint(raw)
			if size <= 0 || n>>63 != 0 {
				return ticket.Paper{}, bad
			}
			numbers[i], raw = n, raw[size:]
		}
		name := numbers[4]
		if name > uint64(len(raw)) {
			return ticket.Paper{}, bad
		}
		l.Amount, l.Voided = int64(numbers[0]), int64(numbers[1])
		l.Off, l.Again = int64(numbers[2]), int64(numbers[3])
		l.Name, raw = string(raw[:name]), raw[name:]
		p.Lines = append(p.Lines, l)
	}
	return p, nil
}

// paper is what has printed under a known key, stored under generation gen. If nobody knows, it is Partial:
// what prints then is marked, because a lost line costs a dinner.
func (b *batch) paper(k requestKey, gen uint64) ticket.Paper {
	i := slices.IndexFunc(b.generations(), func(g generation) bool { return g.number == gen })
	raw := b.gens[i].keys.Get(paperKey(k))
	if raw == nil {
		return ticket.Paper{Partial: true}
	}
	p, err := decodePaper(raw)
	if err != nil { // not put into quarantine: an operation that writes may not be refused any more
		b.afterCommit(func() { b.q.damaged++ })
		b.q.log.Error("the record of what has printed under an id is damaged", "key", fmt.Sprintf("%x", k), "err", err)
		return ticket.Paper{Partial: true}
	}
	return p
}

// putPaper stores the result of encodePaper. putDedup has made the generation.
func (b *batch) putPaper(k requestKey, gen uint64, paper []byte) {
	i := slices.IndexFunc(b.generations(), func(g generation) bool { return g.number == gen })
	if i >= 0 { // else the batch has failed
		b.put(b.gens[i].keys, paperKey(k), paper)
	}
}
