package kds

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

func TestOnlySoManyPagesAreDrawnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{drawing: make(chan struct{}, drawnAtATime)}
		for range drawnAtATime {
			s.drawing <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		w, left := httptest.NewRecorder(), false
		go func() {
			s.page(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), nil, &guest{})
			left = true
		}()
		synctest.Wait()
		if left {
			t.Fatal("drawn although others are")
		}
		leave() // the tablet was switched off
		synctest.Wait()
		if !left || len(s.drawing) != drawnAtATime || w.Body.Len() > 0 {
			t.Errorf("ended %v, %d drawing, sent %q", left, len(s.drawing), w.Body)
		}
	})
}
