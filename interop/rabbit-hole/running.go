package main

import (
	"net/http"
	"net/url"
	"strconv"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"
	amqp "github.com/rabbitmq/amqp091-go"
)

func (n *node) connections() {
	_, err := n.client.PutUser(users[0], rabbithole.UserSettings{Password: users[0], Tags: []string{}})
	must(err)
	_, err = n.client.UpdatePermissionsIn(host, users[0], rabbithole.Permissions{Configure: ".*", Write: ".*", Read: ".*"})
	must(err)
	connection := n.dial(users[0], "rabbit-hole-interop")
	channel, err := connection.Channel()
	must(err)
	must(channel.Qos(7, 0, false))
	queue, err := channel.QueueDeclare("exclusive", false, false, true, false, nil)
	must(err)
	_, err = channel.Consume(queue.Name, "tag", false, false, false, false, amqp.Table{"x-priority": 3})
	must(err)

	hasOne := func(list []rabbithole.ConnectionInfo) bool {
		return len(list) == 1 && list[0].Channels == 1 && list[0].RecvOct > 0
	}
	list := eventually(func() ([]rabbithole.ConnectionInfo, error) { return n.client.ListVhostConnections(host) }, hasOne)
	one := list[0]
	check(one.User == users[0] && one.Vhost == host && one.State == "running" && one.Protocol == "AMQP 0-9-1", "%+v", one)
	check(one.Type == "network" && one.PeerPort > 0 && one.FrameMax > 0 && one.Timeout > 0 && one.ConnectedAt > 0, "%+v", one)
	check(one.ClientProperties["connection_name"] == "rabbit-hole-interop", "%v", one.ClientProperties)
	got, err := n.client.GetConnection(one.Name)
	must(err)
	check(got.Name == one.Name && got.Node == one.Node, "%+v", got)
	_, err = n.client.ListConnections()
	must(err)
	page, err := n.client.PagedListConnectionsWithParameters(url.Values{"page": {"1"}, "name": {one.Name}})
	must(err)
	check(page.FilteredCount == 1 && page.Items[0].Name == one.Name, "%+v", page)
	ofUser, err := n.client.ListConnectionsOfUser(users[0])
	must(err)
	check(len(ofUser) == 1 && ofUser[0].Name == one.Name && ofUser[0].Vhost == host, "%+v", ofUser)

	n.channels(one)
	closed := connection.NotifyClose(make(chan *amqp.Error, 1))
	response, err := n.client.CloseConnection(one.Name)
	status(http.StatusNoContent, response, err)
	reason := <-closed
	check(reason.Code == amqp.ConnectionForced && reason.Reason == "CONNECTION_FORCED - Closed via management plugin", "%+v", reason)
	eventually(func() ([]rabbithole.ConnectionInfo, error) { return n.client.ListVhostConnections(host) },
		func(list []rabbithole.ConnectionInfo) bool { return len(list) == 0 })
	response, err = n.client.CloseConnection(one.Name)
	status(http.StatusNotFound, response, err)
	if n.has("closing all connections of a user") {
		closed = n.dial(users[0], "second").NotifyClose(make(chan *amqp.Error, 1))
		eventually(func() ([]rabbithole.UserConnectionInfo, error) { return n.client.ListConnectionsOfUser(users[0]) },
			func(list []rabbithole.UserConnectionInfo) bool { return len(list) == 1 })
		response, err = n.client.CloseAllConnectionsOfUser(users[0])
		status(http.StatusNoContent, response, err)
		check((<-closed).Code == amqp.ConnectionForced, "closed otherwise")
	}
}

// channels looks at the channel, the consumer and the exclusive queue of a connection.
func (n *node) channels(connection rabbithole.ConnectionInfo) {
	hasConsumer := func(list []rabbithole.ChannelInfo) bool { return len(list) == 1 && list[0].ConsumerCount == 1 }
	list := eventually(func() ([]rabbithole.ChannelInfo, error) { return n.client.ListVhostChannels(host) }, hasConsumer)
	channel := list[0]
	check(channel.Number == 1 && channel.User == users[0] && channel.PrefetchCount == 7, "%+v", channel)
	check(channel.ConnectionDetails.Name == connection.Name, "%+v", channel)
	got, err := n.client.GetChannel(channel.Name)
	must(err)
	check(got.Name == channel.Name, "%+v", got)
	all, err := n.client.ListChannels()
	must(err)
	find(all, func(c rabbithole.ChannelInfo) bool { return c.Name == channel.Name })
	one := eventually(func() ([]rabbithole.ConsumerInfo, error) { return n.client.ListConsumersIn(host) },
		func(list []rabbithole.ConsumerInfo) bool { return len(list) == 1 })[0]
	check(one.ConsumerTag == "tag" && bool(one.AcknowledgementMode) && one.PrefetchCount == 7, "%+v", one)
	check(one.Queue.Name == "exclusive" && one.ChannelDetails.Name == channel.Name, "%+v", one)
	_, err = n.client.ListConsumers()
	must(err)
	ask := func() (*rabbithole.DetailedQueueInfo, error) { return n.client.GetQueue(host, "exclusive") }
	queue := eventually(ask, func(q *rabbithole.DetailedQueueInfo) bool { return q.Consumers == 1 && q.OwnerPidDetails != nil })
	check(queue.Exclusive && queue.OwnerPidDetails.Name == connection.Name, "%+v", queue.OwnerPidDetails)
	check(len(*queue.ConsumerDetails) == 1 && (*queue.ConsumerDetails)[0].ConsumerTag == "tag", "%+v", queue.ConsumerDetails)
}

func (n *node) overview() {
	overview, err := n.client.Overview()
	must(err)
	check(overview.RabbitMQVersion != "" && overview.ErlangVersion != "" && overview.Node != "", "%+v", overview)
	check(overview.ObjectTotals.Queues > 0 && overview.ObjectTotals.Exchanges > 0, "%+v", overview.ObjectTotals)
	find(overview.ExchangeTypes, func(t rabbithole.ExchangeType) bool { return t.Name == "topic" && t.Enabled })
	find(overview.Listeners, func(l rabbithole.Listener) bool { return l.Protocol == "amqp" && l.Port == n.port() })
	ports, err := n.client.ProtocolPorts()
	must(err)
	check(ports["amqp"] == n.port(), "%v", ports)
	protocols, err := n.client.EnabledProtocols()
	must(err)
	find(protocols, func(p string) bool { return p == "amqp" })
	nodes, err := n.client.ListNodes()
	must(err)
	check(len(nodes) == 1 && nodes[0].Name == overview.Node && nodes[0].IsRunning, "%+v", nodes)
	one, err := n.client.GetNode(overview.Node)
	must(err)
	check(one.MemUsed > 0 && one.FdTotal > 0 && one.Uptime > 0 && one.OsPid != "" && one.DiskFree > 0, "%+v", one)
	response, err := n.client.RebalanceQueues()
	status(http.StatusNoContent, response, err)
}

func (n *node) port() rabbithole.Port {
	address, err := url.Parse(n.amqp)
	must(err)
	port, err := strconv.Atoi(address.Port())
	must(err)
	return rabbithole.Port(port)
}

func (n *node) healthChecks() {
	alarms, err := n.client.HealthCheckAlarms()
	must(err)
	check(alarms.Ok(), "%+v", alarms)
	alarms, err = n.client.HealthCheckLocalAlarms()
	must(err)
	check(alarms.Ok(), "%+v", alarms)
	for _, ask := range []func() (rabbithole.HealthCheckStatus, error){
		n.client.HealthCheckVirtualHosts,
		n.client.HealthCheckNodeIsQuorumCritical,
		func() (rabbithole.HealthCheckStatus, error) {
			return n.client.HealthCheckCertificateExpiration(1, rabbithole.DAYS)
		},
	} {
		answer, err := ask()
		must(err)
		check(answer.Ok(), "%+v", answer)
	}
	port, err := n.client.HealthCheckPortListener(uint(n.port()))
	must(err)
	check(port.Ok(), "%+v", port)
	port, err = n.client.HealthCheckPortListener(1)
	must(err)
	check(!port.Ok() && port.Missing == 1 && len(port.Ports) > 0, "%+v", port)
	protocol, err := n.client.HealthCheckProtocolListener(rabbithole.AMQP)
	must(err)
	check(protocol.Ok(), "%+v", protocol)
	protocol, err = n.client.HealthCheckProtocolListener(rabbithole.MQTT)
	must(err)
	check(!protocol.Ok() && protocol.Missing == "mqtt", "%+v", protocol)
}

func (n *node) definitions() {
	whole, err := n.client.ListDefinitions()
	must(err)
	check(whole.RabbitVersion != "" || whole.RabbitMQVersion != "", "%+v", whole)
	find(*whole.Users, func(u rabbithole.UserInfo) bool { return u.Name == users[0] && u.PasswordHash != "" })
	find(*whole.Queues, func(q rabbithole.QueueInfo) bool { return q.Vhost == host && q.Name == "work/all" })
	part, err := n.client.ListVhostDefinitions(host)
	must(err)
	check(len(*part.Queues) == 1 && (*part.Queues)[0].Vhost == "" && part.Users == nil, "%+v", part)
	other := host + "-copied"
	_, err = n.client.PutVhost(other, rabbithole.VhostSettings{})
	must(err)
	part = &rabbithole.ExportedDefinitions{Queues: part.Queues, Exchanges: part.Exchanges, Bindings: part.Bindings, Policies: part.Policies}
	response, err := n.client.UploadVhostDefinitions(part, other)
	check(err == nil && response.StatusCode/100 == 2, "%v %v", response, err)
	copied, err := n.client.ListBindingsIn(other)
	must(err)
	find(copied, func(b rabbithole.BindingInfo) bool { return b.RoutingKey == "a.#" && b.Source == "events/all" })
}

func (n *node) errors() {
	stranger, err := rabbithole.NewClient(n.http, "guest", "wrong")
	must(err)
	_, err = stranger.Whoami()
	check(err != nil && err.Error() == "Error: API responded with a 401 Unauthorized", "%v", err)
	_, err = n.client.GetVhost("rabbit-hole-nowhere")
	refused(http.StatusNotFound, "Not Found", err)
	_, err = n.client.DeclareQueue("rabbit-hole-nowhere", "q", rabbithole.QueueSettings{})
	refused(http.StatusNotFound, "", err)
	_, err = n.client.DeclareExchange(host, "x", rabbithole.ExchangeSettings{Type: "no-such-type"})
	refused(http.StatusBadRequest, "unknown exchange type 'no-such-type'", err)
}
