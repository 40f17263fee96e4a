package web

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"kpsim/campaign/board"
)

// endedMeasured is the number of ended campaigns that still have metrics: the last ones. Open campaigns always have
// metrics.
const endedMeasured = 20

// A figure is a metric of a campaign.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(t *board.Status) float64
}

func figureOf(name, help string, kind prometheus.ValueType, of func(t *board.Status) float64) figure {
	return figure{prometheus.NewDesc("kpsim_campaign_"+name, help, []string{"campaign"}, nil), kind, of}
}

var figures = []figure{
	figureOf("units", "Units of work that are planned.", prometheus.GaugeValue, func(t *board.Status) float64 {
		return float64(t.Units)
	}),
	figureOf("units_done", "Units that have a result.", prometheus.GaugeValue, func(t *board.Status) float64 {
		return float64(t.Done)
	}),
	figureOf("units_set_aside", "Units that were set aside because they failed again and again.",
		prometheus.GaugeValue, func(t *board.Status) float64 {
			return float64(t.SetAside)
		}),
	figureOf("units_out", "Units that are handed out.", prometheus.GaugeValue, func(t *board.Status) float64 {
		return float64(t.HandedOut)
	}),
	figureOf("runs_total", "Runs that were made.", prometheus.CounterValue, func(t *board.Status) float64 {
		return float64(t.Runs)
	}),
	figureOf("runs_planned", "Runs that are planned.", prometheus.GaugeValue, func(t *board.Status) float64 {
		return float64(t.RunsPlanned)
	}),
	figureOf("programs_total", "Programs that were drawn and run, of a fuzzing campaign.",
		prometheus.CounterValue, func(t *board.Status) float64 {
			return float64(t.Programs)
		}),
	figureOf("violations_total", "Runs that broke a property.", prometheus.CounterValue, func(t *board.Status) float64 {
		return float64(t.Violations)
	}),
	figureOf("core_seconds_total", "Time that cores have spent on units.",
		prometheus.CounterValue, func(t *board.Status) float64 {
			return t.CoreSeconds
		}),
	figureOf("runs_per_second", "Runs a second, over the last ten seconds or so.",
		prometheus.GaugeValue, func(t *board.Status) float64 {
			return t.Rate
		}),
	figureOf("seconds_left", "Estimated time to the end; 0 if it isn't known.",
		prometheus.GaugeValue, func(t *board.Status) float64 {
			return t.SecondsLeft
		}),
	figureOf("workers", "Workers that serve it.", prometheus.GaugeValue, func(t *board.Status) float64 {
		return float64(t.WorkerCount)
	}),
	figureOf("cores", "Their cores.", prometheus.GaugeValue, func(t *board.Status) float64 { return float64(t.Cores) }),
	figureOf("troubles_total", "How often units have failed.", prometheus.CounterValue, func(t *board.Status) float64 {
		return float64(t.TroubleCount)
	}),
}

var (
	stateDesc = prometheus.NewDesc("kpsim_campaign_state", "1 for the campaign's state, 0 for the others.",
		[]string{"campaign", "state"}, nil)
	causesDesc = prometheus.NewDesc("kpsim_campaign_causes",
		"Causes found; new ones were found by no earlier campaign.", []string{"campaign", "new"}, nil)
	ageDesc = prometheus.NewDesc("kpsim_campaign_told_ago_seconds",
		"Time since its coordinator last published a new status.", []string{"campaign"}, nil)
	upDesc = prometheus.NewDesc("kpsim_board_up", "1 if the board answers.", nil, nil)
)

// A collector reads the board when it is scraped.
type collector struct{ p *pages }

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range figures {
		to <- f.desc
	}
	for _, d := range []*prometheus.Desc{stateDesc, causesDesc, ageDesc, upDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), boardTimeout)
	defer cancel()
	up := 1.0
	states, err := c.p.b.States(ctx)
	slices.SortFunc(states, func(a, b *board.State) int { return b.Began.Compare(a.Began) })
	for i, s := range states {
		if i >= endedMeasured && !s.Open() {
			continue
		}
		t, bad := c.p.statusOf(ctx, s)
		if errors.Is(bad, board.ErrDamaged) {
			continue
		}
		if bad != nil {
			err = bad
			break
		}
		emit(to, stateDesc, prometheus.GaugeValue, 1, s.ID, s.State)
		if !t.HasStatus {
			continue
		}
		for _, f := range figures {
			emit(to, f.desc, f.kind, f.of(t.Status), s.ID)
		}
		emit(to, ageDesc, prometheus.GaugeValue, t.StatusAge, s.ID)
		emit(to, causesDesc, prometheus.GaugeValue, float64(t.CausesNew), s.ID, "yes")
		emit(to, causesDesc, prometheus.GaugeValue, float64(t.Causes-t.CausesNew), s.ID, "no")
	}
	if err != nil {
		up = 0
	}
	emit(to, upDesc, prometheus.GaugeValue, up)
}

// emit sends a metric, unless its labels aren't UTF-8.
func emit(to chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	if m, err := prometheus.NewConstMetric(d, kind, v, labels...); err == nil {
		to <- m
	}
}

func (p *pages) metrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{p}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError})
}
