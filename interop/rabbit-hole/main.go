// Command rabbit-hole-interop does with a node what clients of rabbit-hole, the Go client of RabbitMQ's management HTTP API, do with
// RabbitMQ: Terraform's provider and the messaging topology operator among them.
//
//	rabbit-hole-interop http://HOST:PORT amqp://HOST:PORT [without...]
//
// Each word behind the addresses is a need that the node does not meet. User guest has to be an administrator.
package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"
	amqp "github.com/rabbitmq/amqp091-go"
)

// The virtual host of everything here. Its name has to be encoded in paths; rabbit-hole encodes spaces wrongly.
const host = "rabbit/hole-interop"

type node struct {
	client  *rabbithole.Client
	http    string
	amqp    string
	without []string
}

func main() {
	log.SetFlags(log.Lshortfile)
	if len(os.Args) < 3 {
		log.Fatal("usage: rabbit-hole-interop http://HOST:PORT amqp://HOST:PORT [without...]")
	}
	client, err := rabbithole.NewClient(os.Args[1], "guest", "guest")
	must(err)
	n := &node{client, os.Args[1], os.Args[2], os.Args[3:]}
	n.forget()
	n.hosts()
	n.exchangesAndQueues()
	n.bindings()
	n.messages()
	n.users()
	n.permissions()
	n.policies()
	n.limits()
	n.parameters()
	n.connections()
	n.overview()
	n.healthChecks()
	n.definitions()
	n.errors()
	n.forget()
	fmt.Println("rabbit-hole: all calls as expected")
}

// forget deletes what is declared here, which may be left from a run before.
func (n *node) forget() {
	for _, name := range []string{host, host + "-copied"} {
		_, err := n.client.DeleteVhost(name)
		must(err)
	}
	for _, user := range users {
		_, err := n.client.DeleteUser(user)
		must(err)
	}
}

func (n *node) has(need string) bool { return !slices.Contains(n.without, need) }

// must ends the program at an error, and names the line of its caller.
func must(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

// check ends the program unless the condition holds.
func check(holds bool, format string, values ...any) {
	if !holds {
		log.Output(2, fmt.Sprintf(format, values...))
		os.Exit(1)
	}
}

// status ends the program unless a response has this status.
func status(wanted int, response *http.Response, err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	response.Body.Close()
	if response.StatusCode != wanted {
		log.Output(2, fmt.Sprintf("status %d instead of %d", response.StatusCode, wanted))
		os.Exit(1)
	}
}

// refused ends the program unless the error is RabbitMQ's, with this status and with these words in its reason.
func refused(wanted int, words string, err error) {
	var refusal rabbithole.ErrorResponse
	if !errors.As(err, &refusal) || refusal.StatusCode != wanted || !strings.Contains(refusal.Reason, words) {
		log.Output(2, fmt.Sprintf("%#v instead of %d with %q", err, wanted, words))
		os.Exit(1)
	}
}

// eventually asks until the answer is right: RabbitMQ's statistics are late.
func eventually[T any](ask func() (T, error), isRight func(T) bool) T {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		answer, err := ask()
		if err == nil && isRight(answer) {
			return answer
		}
		if time.Now().After(deadline) {
			log.Output(2, fmt.Sprintf("still %#v, %v", answer, err))
			os.Exit(1)
		}
	}
}

// find returns the item for which isIt holds.
func find[T any](items []T, isIt func(T) bool) T {
	index := slices.IndexFunc(items, isIt)
	if index < 0 {
		log.Output(2, fmt.Sprintf("not among %#v", items))
		os.Exit(1)
	}
	return items[index]
}

// dial opens an AMQP connection to the virtual host.
func (n *node) dial(user, name string) *amqp.Connection {
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	connection, err := amqp.DialConfig(n.amqp, amqp.Config{
		SASL:       []amqp.Authentication{&amqp.PlainAuth{Username: user, Password: user}},
		Vhost:      host,
		Properties: properties,
	})
	must(err)
	return connection
}
