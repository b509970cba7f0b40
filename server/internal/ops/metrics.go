package ops

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what the process counts, for Prometheus.
type Metrics struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
}

// NewMetrics returns metrics with nothing counted yet.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onceward_decisions_total",
			Help: "Decisions by call, namespace and outcome, or the reason of the error. Namespaces that the policies do not name are one, with an empty label.",
		}, []string{"rpc", "namespace", "outcome"}),
	}
	m.registry.MustRegister(m.decisions, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Decided counts one decision.
func (m *Metrics) Decided(rpc, namespace, outcome string) {
	m.decisions.WithLabelValues(rpc, namespace, outcome).Inc()
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
