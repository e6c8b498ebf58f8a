package kds

// Join opens a page that answers heartbeats, until leave is called.
func (s *Screen) Join(id string) (leave func()) {
	closed := s.streamOpened(id)
	s.pageAnswered(id, nil)
	return func() {
		closed()
		s.removePage(id, false)
	}
}

// ExpirePage is what the stream of a page does at each heartbeat.
func (s *Screen) ExpirePage(id string) { s.expirePage(id) }
