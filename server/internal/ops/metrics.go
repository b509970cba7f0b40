package ops

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
)

// Metrics are what the process counts, for Prometheus.
type Metrics struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
	handled   *prometheus.CounterVec
	handling  *prometheus.HistogramVec
	calls     sync.Map // callKey to *call: looking labels up anew costs more than counting
}

type callKey struct {
	method string
	code   codes.Code
}

type call struct {
	handled  prometheus.Counter
	handling prometheus.Observer
}

// NewMetrics returns metrics with nothing counted yet.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onceward_decisions_total",
			Help: "Decisions by call, namespace and outcome, or the reason of the error. Namespaces that the policies do not name are one, with an empty label.",
		}, []string{"rpc", "namespace", "outcome"}),
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total",
			Help: "Calls that have ended, by method and status code.",
		}, []string{"grpc_service", "grpc_method", "grpc_code"}),
		handling: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "grpc_server_handling_seconds",
			Help:    "How long calls took in the server, by method.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 30},
		}, []string{"grpc_service", "grpc_method"}),
	}
	m.registry.MustRegister(m.decisions, m.handled, m.handling, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Decided counts one decision.
func (m *Metrics) Decided(rpc, namespace, outcome string) {
	m.decisions.WithLabelValues(rpc, namespace, outcome).Inc()
}

// Handled counts a call that has ended; method is in gRPC's form,
// /service/method.
func (m *Metrics) Handled(method string, code codes.Code, took time.Duration) {
	key := callKey{method, code}
	known, ok := m.calls.Load(key)
	if !ok {
		service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
		known, _ = m.calls.LoadOrStore(key, &call{
			handled:  m.handled.WithLabelValues(service, name, code.String()),
			handling: m.handling.WithLabelValues(service, name),
		})
	}
	c := known.(*call)
	c.handled.Inc()
	c.handling.Observe(took.Seconds())
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
