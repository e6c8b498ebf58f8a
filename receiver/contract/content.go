package contract

import (
	"encoding/binary"
	"strings"

	"ticketrail/queue/ticket"
)

// The content of a body is a hash of everything in it that a retry repeats. The queue and the relay know a retry by it.

const hashAtOnce = 512 // bytes, which are collected: the parts are small

// write adds a part to the content. A mark begins each and texts have their lengths, so no two contents have the same
// bytes.
func (t *treeReader) write(mark byte, texts ...string) {
	if t.differs {
		return
	}

	_ = t.content.WriteByte(mark)
	for _, text := range texts {
		_, _ = t.content.Write(binary.AppendUvarint(t.content.AvailableBuffer(), uint64(len(text))))
		_, _ = t.content.WriteString(text)
	}
}

// mayDiffer says whether a member may have another value in a retry:
//   - anywhere, metadata, and updatedAt if it is a time;
//   - directly in the body, the service's measurements and each time, except one for which the meal is wanted
//     (wantedKey).
func (n node) mayDiffer(inBody bool) bool {
	isTime := func() bool {
		return (n.kind == '"' || n.kind == '0') && ticket.IsTime(n.key, strings.TrimSpace(n.text))
	}

	switch {
	case ticket.IsMetadata(n.key):
		return true
	case n.key == FieldUpdatedAt:
		return isTime()
	case inBody:
		return n.key == FieldDuration || n.key == FieldClientDrift || isTime() && !wantedKey.MatchString(n.key)
	}
	return false
}
