package printertest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswersInOrderComeWhenThePaperHasThem(t *testing.T) {
	slow := all
	slow.LinesPerSecond = 2
	bubble(t, slow, func(t *testing.T, p *Printer) {
		l, began := plug(p), time.Now()
		l.send("a\nb\nc\n" + id("p001") + "\x1dr\x01" + "d\n")
		time.Sleep(1400*time.Millisecond - time.Since(began))
		if got := l.answers(); got != "" || texts(p) != "a\nb\n" {
			t.Errorf("after 1.4 s answers % X, paper %q", got, texts(p))
		}
		time.Sleep(200 * time.Millisecond)
		if got, want := l.answers(), answerTo("p001")+"\x00"; got != want || texts(p) != "a\nb\nc\n" {
			t.Errorf("after 1.6 s answers % X, paper %q", got, texts(p))
		}
		l.Close()
		if p.Wait(); time.Since(began) != 2*time.Second || texts(p) != "a\nb\nc\nd\n" {
			t.Errorf("after %v on paper: %q", time.Since(began), texts(p))
		}
	})
}

func TestAnInterpreterThatIsAheadAnswersOnlyGSrEarly(t *testing.T) {
	ahead := all
	ahead.LinesPerSecond, ahead.Ahead, ahead.NewestID = 2, 9, true
	bubble(t, ahead, func(t *testing.T, p *Printer) {
		l := plug(p)
		l.send("a\nb\n" + id("p001") + id("p002") + "\x1dr\x01")
		if got := l.answers(); got != "\x00" || texts(p) != "" {
			t.Errorf("at once answers % X, paper %q", got, texts(p))
		}
		time.Sleep(1100 * time.Millisecond)
		if got := l.answers(); got != answerTo("p002") || texts(p) != "a\nb\n" {
			t.Errorf("after printing answers % X, paper %q", got, texts(p))
		}
	})
}

func TestAConditionStopsThePaperAndKeepsTheBuffer(t *testing.T) {
	small := all
	small.Buffer, small.LinesPerSecond = 100, 10
	bubble(t, small, func(t *testing.T, p *Printer) {
		l := plug(p)
		l.send("\x1da\x0c")
		p.AfterLines(1, func() { p.Set(PaperOut, true) })
		p.Set(CoverOpen, true) // GS a 0C does not ask for this
		p.Set(CoverOpen, false)
		l.send("a\nb\n\x10\x04\x04")
		time.Sleep(time.Second)
		if got, want := l.answers(), "\x10\x00\x00\x0f\x12\x18\x00\x0c\x0f"; got != want || texts(p) != "a\n" {
			t.Errorf("answers % X, paper %q", got, texts(p))
		}
		if n := l.send(strings.Repeat("x", 200)); n != 95 {
			t.Errorf("with a buffer of 100 and 5 in it: took %d", n)
		}
		if n := l.send("\x10\x04\x04"); n != 0 {
			t.Errorf("a full printer took %d bytes", n)
		}
		p.Set(PaperOut, false)
		time.Sleep(time.Second)
		if got := texts(p); !strings.HasPrefix(got, "a\nb\nxxxx") {
			t.Errorf("after the refill on paper: %q", got)
		}
	})
}

func TestASBTellsWhatItWasAskedForWhenItChanges(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		for _, step := range []struct {
			asked, healthy string
			sets           []Condition
			want           string
		}{
			{"\x1da\x02", "\x10\x00\x00\x0f", []Condition{CoverOpen, NearEnd}, "\x38\x00\x00\x0f"},
			{"\x1da\x04", "\x10\x00\x00\x0f", []Condition{NearEnd, CutterJam}, "\x18\x08\x03\x0f"},
			{"\x1da\x04", "\x10\x00\x00\x0f", []Condition{Broken}, "\x18\x20\x00\x0f"},
			{"\x1da\x04", "\x10\x00\x00\x0f", []Condition{HeadHot}, "\x18\x40\x00\x0f"},
			{"\x1da\x08", "\x10\x00\x00\x0f", []Condition{PaperOut}, "\x18\x00\x0c\x0f"},
			{"\x1da\xff\x1b@", "\x10\x00\x00\x0f", []Condition{PaperOut}, ""},
			{"\x1da\x00", "", []Condition{PaperOut}, ""},
		} {
			l.send(step.asked)
			if got := l.answers(); got != step.healthy {
				t.Errorf("% X: % X", step.asked, got)
			}
			for _, c := range step.sets {
				p.Set(c, true)
			}
			if got := l.answers(); got != step.want {
				t.Errorf("% X, then %v: % X", step.asked, step.sets, got)
			}
			for _, c := range step.sets {
				p.Set(c, false)
			}
			l.answers()
		}
	})
}

func TestASlowWireTakesItsTime(t *testing.T) {
	serial := all
	serial.BytesPerSecond = 960
	bubble(t, serial, func(t *testing.T, p *Printer) {
		l := plug(p)
		go l.Write([]byte(strings.Repeat("x", 960) + "\x10\x04\x01"))
		time.Sleep(900 * time.Millisecond)
		if got := l.answers(); got != "" {
			t.Errorf("early: % X", got)
		}
		time.Sleep(200 * time.Millisecond)
		if got := l.answers(); got != "\x12" {
			t.Errorf("late: % X", got)
		}
	})
}

func TestOnePrinterServesOneClient(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		first, second := plug(p), plug(p)
		if n := second.send("second\n"); n != 0 {
			t.Errorf("took %d bytes from the second client", n)
		}
		first.send("first\n")
		if got := p.Taken(); got != (Taken{Bytes: 6, Accepted: 2, Clients: 2}) {
			t.Errorf("%+v", got)
		}
		first.Close()
		if n := second.send("second\n"); n != 7 || texts(p) != "first\nsecond\n" {
			t.Errorf("took %d bytes, paper %q", n, texts(p))
		}
	})
	refuse := all
	refuse.Others = Refuse
	bubble(t, refuse, func(t *testing.T, p *Printer) {
		first, second := plug(p), plug(p)
		if first.ended() || !second.ended() {
			t.Errorf("ended: first %v, second %v", first.ended(), second.ended())
		}
	})
	evict := all
	evict.Others = Evict
	bubble(t, evict, func(t *testing.T, p *Printer) {
		first, second := plug(p), plug(p)
		second.send("\x10\x04\x01")
		if !first.ended() || second.answers() != "\x12" {
			t.Errorf("the second client does not have the port")
		}
	})
}

func TestAnAnswerGoesToTheClientOfTheMoment(t *testing.T) {
	slow := all
	slow.LinesPerSecond = 1
	bubble(t, slow, func(t *testing.T, p *Printer) {
		till := plug(p)
		till.send("till\n" + id("till"))
		till.Close()
		l := plug(p)
		time.Sleep(2 * time.Second)
		if got := l.answers(); got != answerTo("till") {
			t.Errorf("answers % X", got)
		}
	})
}

func TestAFaultComesBehindAText(t *testing.T) {
	for n, want := range []string{"x\nFish", "x\nFish\n", "x\nFish\na"} {
		bubble(t, all, func(t *testing.T, p *Printer) {
			p.AfterText("Fish", n, func() { p.Lose(0, 100) })
			l := plug(p)
			l.send("x\nFi")
			l.send("sh\nab\n")
			p.Lose(0, 0)
			l.send("\n")
			if got := texts(p); got != want+"\n" && got != want {
				t.Errorf("%d behind: on paper %q, want %q", n, got, want)
			}
		})
	}
}

func TestAHungPrinterDoesNothingUntilItsPowerCycle(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		p.AfterBytes(3, p.Hang)
		l.send("a\nb\n\x10\x04\x01")
		next := plug(p)
		if n := next.send("x"); n != 0 || l.answers() != "" || l.ended() || next.ended() || p.Taken().Bytes != 3 {
			t.Errorf("a hung printer took %d bytes of %d", n, p.Taken().Bytes)
		}
		p.PowerCycle()
		if !l.ended() || !next.ended() {
			t.Error("connections survive a power cycle")
		}
		plug(p).send("c\n")
		if got := texts(p); got != "a\nc\n" {
			t.Errorf("on paper: %q", got)
		}
	})
}

func TestAPowerCycleTakesWhatIsNotOnPaper(t *testing.T) {
	slow := all
	slow.LinesPerSecond, slow.Ahead = 1, 2
	bubble(t, slow, func(t *testing.T, p *Printer) {
		plug(p).send("a\nb\nc\nd\ne\n" + "\x1bE\x01")
		time.Sleep(1500 * time.Millisecond)
		p.PowerCycle()
		time.Sleep(5 * time.Second)
		plug(p).send("z\n")
		time.Sleep(5 * time.Second)
		if got := texts(p); got != "a\nz\n" {
			t.Errorf("on paper: %q", got)
		}
	})
}

func TestLostBytesLeaveACommandUnfinished(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		p.Lose(10, 3)
		l.send("\x1dv0\x00\x01\x00\x18\x00" + rows(24) + "ab\ncd\n" + id("p001"))
		if got := l.answers(); got != answerTo("p001") || texts(p) != "[picture, 24 of 24 rows]\ncd\n" {
			t.Errorf("answers % X, paper %q", got, texts(p))
		}
	})
}

func TestAnIdlePrintServerClosesBeforeTheAnswer(t *testing.T) {
	slow := all
	slow.LinesPerSecond = 1
	bubble(t, slow, func(t *testing.T, p *Printer) {
		p.CloseAfterIdle(300 * time.Millisecond)
		l := plug(p)
		time.Sleep(200 * time.Millisecond)
		l.send("a\n" + id("p001"))
		time.Sleep(200 * time.Millisecond)
		if l.ended() {
			t.Error("closed 200 ms after a byte")
		}
		time.Sleep(200 * time.Millisecond)
		if !l.ended() {
			t.Error("open 400 ms after the last byte")
		}
		time.Sleep(time.Second)
		if got := l.answers(); got != "" || texts(p) != "a\n" {
			t.Errorf("answers % X, paper %q", got, texts(p))
		}
	})
}

func TestAnswersAreCutOffBehindPrintingOnly(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		p.CutOffAnswers(1)
		l := plug(p)
		l.send(id("p001") + "\x1dr\x01")
		if got := l.answers(); got != answerTo("p001")+"\x00" {
			t.Errorf("the hello: % X", got)
		}
		l.send("a\n" + id("p002"))
		if got := l.answers(); got != "" || !l.ended() || texts(p) != "a\n" {
			t.Errorf("answers % X, ended %v, paper %q", got, l.ended(), texts(p))
		}
		l = plug(p)
		l.send("b\n" + id("p003"))
		if got := l.answers(); got != answerTo("p003") {
			t.Errorf("the fault lasts: % X", got)
		}
	})
}

func TestFencesGoWrongWhileStatusWorks(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		p.NoFence(true)
		l.send(id("p001") + "\x1dr\x01\x10\x04\x01")
		if got := l.answers(); got != "\x12" {
			t.Errorf("no fence: % X", got)
		}
		p.NoFence(false)
		p.WrongIDs(true)
		l.send(id("p001") + id("    "))
		if got := l.answers(); len(got) != 14 || strings.Contains(got, "p001") || strings.Contains(got, "    ") {
			t.Errorf("wrong ids: % X", got)
		}
		p.WrongIDs(false)
		p.Garbage(7)
		l.send(id("p001"))
		first := l.answers()
		p.Garbage(7)
		l.send("\x1dr\x01")
		if got := l.answers(); got != first || got == "" || strings.Contains(got, "p001") {
			t.Errorf("garbage: % X, again % X", first, got)
		}
		p.Garbage(0)
		l.send(id("p001"))
		if got := l.answers(); got != answerTo("p001") {
			t.Errorf("after the faults: % X", got)
		}
	})
}

func TestAThiefsBytesComeBetweenOurs(t *testing.T) {
	bubble(t, all, func(t *testing.T, p *Printer) {
		l := plug(p)
		p.AfterBytes(3, func() { p.Steal([]byte("till\n\x10\x04\x01"+id("till")), 2*time.Second) })
		go l.Write([]byte("one\ntwo\n" + id("p001")))
		time.Sleep(time.Second)
		if got := l.answers(); got != "" || texts(p) != "onetill\n" {
			t.Errorf("meanwhile answers % X, paper %q", got, texts(p))
		}
		time.Sleep(2 * time.Second)
		if got := l.answers(); got != answerTo("p001") || texts(p) != "onetill\ntwo\n" {
			t.Errorf("afterwards answers % X, paper %q", got, texts(p))
		}
		p.AfterBytes(3, func() { p.Steal([]byte("till\n"), 0) })
		l.send("one\ntwo\n")
		if !l.ended() || !strings.HasSuffix(texts(p), "two\nonetill\n") {
			t.Errorf("ended %v, paper %q", l.ended(), texts(p))
		}
	})
}

func TestEarlyDropsTakeNothing(t *testing.T) {
	for _, how := range []Drop{Reset, Finish, Swallow} {
		bubble(t, all, func(t *testing.T, p *Printer) {
			p.DropEarly(20*time.Millisecond, how)
			l := plug(p)
			l.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			n, _ := l.Write([]byte("a\n"))
			if want := map[Drop]int{Swallow: 2}[how]; n != want || l.ended() {
				t.Errorf("%v: took %d, ended early: %v", how, n, l.ended())
			}
			time.Sleep(30 * time.Millisecond)
			if !l.ended() || texts(p) != "" || p.Taken().Bytes != 0 {
				t.Errorf("%v: ended %v, paper %q, %+v", how, l.ended(), texts(p), p.Taken())
			}
			p.DropEarly(0, Stay)
			plug(p).send("b\n")
			if got := texts(p); got != "b\n" {
				t.Errorf("%v: after the fault on paper %q", how, got)
			}
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := all
		slow.LinesPerSecond = 1
		p := New(slow)
		l, waiting := plug(p), plug(p)
		l.send("a\nb\n")
		p.Close()
		if !l.ended() || !waiting.ended() {
			t.Error("connections survive")
		}
		if late := plug(p); !late.ended() {
			t.Error("a closed printer accepts")
		}
	})
}
