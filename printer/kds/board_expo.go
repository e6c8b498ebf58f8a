package kds

// An Order is what the pass sees of one order: the cards of all its stations.
type Order struct {
	Key     string `json:"key"`
	Version uint64 `json:"version"`
}
