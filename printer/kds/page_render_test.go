package kds

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

func TestOnlyAFewPagesAreRenderedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{renderSlots: make(chan struct{}, maxRendering)}
		for range maxRendering {
			s.renderSlots <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		w, left := httptest.NewRecorder(), false
		go func() {
			s.page(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), nil, &grant{})
			left = true
		}()
		synctest.Wait()
		if left {
			t.Fatal("drawn although others are")
		}
		leave() // the tablet was switched off
		synctest.Wait()
		if !left || len(s.renderSlots) != maxRendering || w.Body.Len() > 0 {
			t.Errorf("ended %v, %d drawing, sent %q", left, len(s.renderSlots), w.Body)
		}
	})
}
