package posapi

type tokens struct{}

func newTokens(*Venue) *tokens { return new(tokens) }
