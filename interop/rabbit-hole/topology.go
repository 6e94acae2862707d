package main

import (
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"
)

func (n *node) hosts() {
	settings := rabbithole.VhostSettings{Description: "of rabbit-hole", Tags: []string{"production", "eu"}, Tracing: false}
	response, err := n.client.PutVhost(host, settings)
	status(http.StatusCreated, response, err)
	response, err = n.client.PutVhost(host, settings)
	status(http.StatusNoContent, response, err)
	found, err := n.client.GetVhost(host)
	must(err)
	check(found.Name == host && found.Description == settings.Description && !found.Tracing, "%+v", found)
	check(reflect.DeepEqual(found.Tags, settings.Tags), "tags %v", found.Tags)
	list, err := n.client.ListVhosts()
	must(err)
	find(list, func(v rabbithole.VhostInfo) bool { return v.Name == host && len(v.ClusterState) == 1 })
	if n.has("protected virtual hosts") {
		response, err = n.client.EnableVhostDeletionProtection(host)
		status(http.StatusNoContent, response, err)
		_, err = n.client.DeleteVhost(host)
		refused(http.StatusPreconditionFailed, "protected", err)
		response, err = n.client.DisableVhostDeletionProtection(host)
		status(http.StatusNoContent, response, err)
	}
	_, err = n.client.UpdatePermissionsIn(host, "guest", rabbithole.Permissions{Configure: ".*", Write: ".*", Read: ".*"})
	must(err)
}

func (n *node) exchangesAndQueues() {
	arguments := map[string]any{"alternate-exchange": "amq.fanout"}
	settings := rabbithole.ExchangeSettings{Type: "topic", Durable: true, Arguments: arguments}
	for _, wanted := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.DeclareExchange(host, "events/all", settings)
		status(wanted, response, err)
	}
	_, err := n.client.DeclareExchange(host, "x", rabbithole.ExchangeSettings{Type: "fanout"})
	must(err)
	exchange, err := n.client.GetExchange(host, "events/all")
	must(err)
	check(exchange.Type == "topic" && exchange.Durable && reflect.DeepEqual(exchange.Arguments, arguments), "%+v", exchange)
	exchanges, err := n.client.ListExchangesIn(host)
	must(err)
	find(exchanges, func(e rabbithole.ExchangeInfo) bool { return e.Name == "" && e.Type == "direct" })
	find(exchanges, func(e rabbithole.ExchangeInfo) bool { return e.Name == "x" && !e.Durable })

	// Terraform compares arguments with what it sent, so numbers stay numbers.
	arguments = map[string]any{"x-message-ttl": float64(60000), "x-max-length": float64(10), "x-overflow": "drop-head"}
	queue := rabbithole.QueueSettings{Durable: true, Arguments: arguments}
	for _, wanted := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.DeclareQueue(host, "work/all", queue)
		status(wanted, response, err)
	}
	_, err = n.client.DeclareQueue(host, "q", rabbithole.QueueSettings{Type: "classic", AutoDelete: true})
	must(err)
	detailed, err := n.client.GetQueue(host, "work/all")
	must(err)
	check(detailed.Durable && detailed.Vhost == host && detailed.Type == "classic", "%+v", detailed)
	check(reflect.DeepEqual(detailed.Arguments, arguments), "arguments %v", detailed.Arguments)
	queues, err := n.client.ListQueuesIn(host)
	must(err)
	find(queues, func(q rabbithole.QueueInfo) bool { return q.Name == "q" && bool(q.AutoDelete) && !q.Durable })
	check(len(queues) == 2, "%d queues", len(queues))
	page, err := n.client.PagedListQueuesWithParametersIn(host, url.Values{"page": {"1"}, "page_size": {"1"}})
	must(err)
	check(page.PageCount == 2 && page.TotalCount == 2 && len(page.Items) == 1, "%+v", page)
	queues, err = n.client.ListQueuesWithParametersIn(host, url.Values{"columns": {"name"}})
	must(err)
	check(len(queues) == 2 && queues[0].Vhost == "", "%+v", queues)
	_, err = n.client.DeclareQueue(host, "q", rabbithole.QueueSettings{Durable: true})
	refused(http.StatusBadRequest, "inequivalent arg 'durable' for queue 'q' in vhost '"+host+"'", err)
}

func (n *node) bindings() {
	arguments := map[string]any{"x-match": "all", "n": float64(1), "s": "text"}
	for _, binding := range []rabbithole.BindingInfo{
		{Source: "events/all", Destination: "work/all", DestinationType: "queue", RoutingKey: "a.#"},
		{Source: "events/all", Destination: "work/all", DestinationType: "queue"},
		{Source: "amq.headers", Destination: "q", DestinationType: "queue", RoutingKey: "k/~", Arguments: arguments},
		{Source: "events/all", Destination: "x", DestinationType: "exchange", RoutingKey: "*.b"},
	} {
		response, err := n.client.DeclareBinding(host, binding)
		status(http.StatusCreated, response, err)
		// Terraform takes the key of a binding from the end of its place.
		place, err := url.Parse(response.Header.Get("Location"))
		must(err)
		key, err := url.PathUnescape(path.Base(place.EscapedPath()))
		must(err)
		check(key != "." && key != "", "no key in %q", place)
		list := n.between(binding)
		found := find(list, func(b rabbithole.BindingInfo) bool { return b.RoutingKey == binding.RoutingKey })
		check(found.PropertiesKey == key, "%q at the end of the place and %q in the list", key, found.PropertiesKey)
		check(len(found.Arguments) == len(binding.Arguments), "%+v", found)
		binding.PropertiesKey = key
		response, err = n.client.DeleteBinding(host, binding)
		status(http.StatusNoContent, response, err)
		response, err = n.client.DeclareBinding(host, binding)
		status(http.StatusCreated, response, err)
	}
	list, err := n.client.ListQueueBindings(host, "work/all")
	must(err)
	check(len(list) == 3, "%+v", list)
	list, err = n.client.ListExchangeBindingsWithSource(host, "events/all")
	must(err)
	check(len(list) == 3, "%+v", list)
	list, err = n.client.ListExchangeBindingsWithDestination(host, "x")
	must(err)
	check(len(list) == 1 && list[0].DestinationType == "exchange", "%+v", list)
	list, err = n.client.ListBindingsIn(host)
	must(err)
	find(list, func(b rabbithole.BindingInfo) bool {
		return b.Source == "" && b.Destination == "q" && b.RoutingKey == "q"
	})
	check(len(list) == 6, "%d bindings", len(list))
}

// between lists the bindings from the source of a binding to its destination.
func (n *node) between(binding rabbithole.BindingInfo) []rabbithole.BindingInfo {
	list := n.client.ListQueueBindingsBetween
	if binding.DestinationType == "exchange" {
		list = n.client.ListExchangeBindingsBetween
	}
	found, err := list(host, binding.Source, binding.Destination)
	must(err)
	return found
}

func (n *node) messages() {
	for _, sent := range []struct {
		exchange, key string
		routed        bool
	}{{"events/all", "a.b", true}, {"amq.default", "q", true}, {"amq.direct", "nowhere", false}} {
		options := rabbithole.PublishOptions{RoutingKey: sent.key, Payload: "m", PayloadEncoding: "string"}
		options.Properties = map[string]any{"delivery_mode": 2}
		result, err := n.client.PublishToExchange(host, sent.exchange, options)
		must(err)
		check(result.Routed == sent.routed, "%+v", sent)
	}
	ask := func() (*rabbithole.DetailedQueueInfo, error) { return n.client.GetQueue(host, "q") }
	eventually(ask, func(q *rabbithole.DetailedQueueInfo) bool { return q.Messages == 1 && q.MessagesReady == 1 })
	response, err := n.client.PurgeQueue(host, "q")
	status(http.StatusNoContent, response, err)
	eventually(ask, func(q *rabbithole.DetailedQueueInfo) bool { return q.Messages == 0 && q.MessageStats != nil })
	response, err = n.client.DeleteQueue(host, "q", rabbithole.QueueDeleteOptions{IfEmpty: true})
	status(http.StatusNoContent, response, err)
	response, err = n.client.DeleteExchange(host, "x")
	status(http.StatusNoContent, response, err)
	// rabbit-hole takes a 404 after DELETE for success.
	response, err = n.client.DeleteQueue(host, "q")
	status(http.StatusNotFound, response, err)
	_, err = n.client.GetQueue(host, "q")
	refused(http.StatusNotFound, "Not Found", err)
	check(strings.Contains(err.Error(), "404"), "%v", err)
}
