module hairstreak/interop/rabbit-hole

go 1.24.0

require (
	github.com/michaelklishin/rabbit-hole/v3 v3.5.0
	github.com/rabbitmq/amqp091-go v1.10.0
)
