package plan

import (
	"crypto/sha256"

	"ticketrail/receiver/contract"
)

// Digest identifies the content of a request, without what differs in a retry: metadata.
func Digest(req contract.PrintRequest) (sum [32]byte) {
	h := sha256.New()
	for i := range req.Records {
		r := &req.Records[i]
		h.Write([]byte(r.ID + "\n" + r.Unreadable + "\n" + r.Fields.JSON(r.Fields.Get(contract.FieldID)) + "\n"))
	}
	h.Sum(sum[:0])
	return sum
}
