import AgentModel

// Outgoing messages (RFC 2131, table 5).

extension DHCPClient {
    mutating func discovery(_ exchange: Exchange, at now: Instant) -> Effect {
        var message = message(.discover, exchange, seconds: seconds(at: now))
        if let hint { message.options.append(.requestedAddress, hint.bytes) }
        message.options.append(.rapidCommit, [])
        appendWishes(to: &message)
        return broadcast(message)
    }

    mutating func request(_ request: Request) -> Effect {
        var message = message(.request, request.exchange, seconds: request.seconds)
        message.options.append(.requestedAddress, request.offer.address.bytes)
        message.options.append(.serverIdentifier, request.offer.server.bytes)
        appendWishes(to: &message)
        return broadcast(message)
    }

    /// Asks if a lease is still valid in this network (INIT-REBOOT).
    mutating func reconfirmation(of lease: Lease, _ exchange: Exchange, at now: Instant) -> Effect {
        var message = message(.request, exchange, seconds: seconds(at: now))
        message.options.append(.requestedAddress, lease.address.bytes)
        appendWishes(to: &message)
        return broadcast(message)
    }

    mutating func renewal(of lease: Lease, _ exchange: Exchange) -> Effect {
        .unicast(more(of: lease, exchange).bytes, from: lease.address, to: lease.server)
    }

    mutating func rebinding(of lease: Lease, _ exchange: Exchange) -> Effect {
        broadcast(more(of: lease, exchange), from: lease.address)
    }

    mutating func decline(_ lease: Lease) -> Effect {
        var message = lastMessage(.decline)
        message.options.append(.requestedAddress, lease.address.bytes)
        message.options.append(.serverIdentifier, lease.server.bytes)
        return broadcast(message)
    }

    mutating func releasing(_ lease: Lease) -> Effect {
        var message = lastMessage(.release)
        message.clientAddress = lease.address
        message.options.append(.serverIdentifier, lease.server.bytes)
        return .unicast(message.bytes, from: lease.address, to: lease.server)
    }

    /// Requests an extension of the lease. Unicast answers arrive, because the address is in use.
    private mutating func more(of lease: Lease, _ exchange: Exchange) -> DHCPMessage {
        var message = message(.request, exchange, seconds: 1)
        (message.clientAddress, message.wantsBroadcast) = (lease.address, false)
        appendWishes(to: &message)
        return message
    }

    private func message(_ kind: DHCPMessage.Kind, _ exchange: Exchange, seconds: UInt16) -> DHCPMessage {
        var message = DHCPMessage(.request, kind, transaction: exchange.transaction, hardware: hardware)
        message.seconds = seconds
        message.wantsBroadcast = DHCPTiming.wantsBroadcast(after: exchange.sent)
        message.options.append(.clientIdentifier, settings.identifier(for: hardware))
        return message
    }

    /// Creates a message that expects no answer.
    private mutating func lastMessage(_ kind: DHCPMessage.Kind) -> DHCPMessage {
        let transaction = UInt32.random(in: .min ... .max, using: &random)
        var message = DHCPMessage(.request, kind, transaction: transaction, hardware: hardware)
        message.options.append(.clientIdentifier, settings.identifier(for: hardware))
        return message
    }

    private mutating func appendWishes(to message: inout DHCPMessage) {
        message.options.append(.longestMessage, UInt16(DHCPMessage.longest).bytes)
        if let name = settings.hostName, !settings.isAnonymous {
            message.options.append(.hostName, Array(name.description.utf8))
        }
        // A random order does not identify the program (RFC 7844, 3.6).
        let wishes = settings.isAnonymous ? DHCPOption.requested.shuffled(using: &random) : DHCPOption.requested
        message.options.append(.parameterList, wishes.map(\.rawValue))
    }

    private func broadcast(_ message: DHCPMessage, from source: IPv4Address = .unspecified) -> Effect {
        .broadcast(UDPDatagram(source: source, destination: .broadcast, payload: message.bytes).packet)
    }

    /// Seconds since the search for an address began, at least 1: some servers ignore a client that sends 0.
    func seconds(at now: Instant) -> UInt16 {
        UInt16(clamping: max(1, (now - began).milliseconds / 1000))
    }
}
