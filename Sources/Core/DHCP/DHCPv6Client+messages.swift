import AgentModel

// Outgoing (RFC 8415, 18.2) and incoming messages.

extension DHCPv6Client {
    // MARK: Questions

    mutating func solicitation(_ exchange: Exchange, at now: Instant) -> Effect {
        var message = message(.solicit, exchange, at: now)
        message.options.append(.rapidCommit, [])
        message.options.append(.association, association(of: hint))
        appendWishes(DHCPv6Option.requested, to: &message)
        return .send(message.bytes)
    }

    /// Creates a message about a lease. REQUEST, RENEW and RELEASE address its server, CONFIRM and REBIND all servers.
    mutating func question(
        _ kind: DHCPv6Message.Kind, about lease: IPv6Lease, _ exchange: Exchange, at now: Instant
    ) -> Effect {
        var message = message(kind, exchange, at: now)
        if [.request, .renew, .release].contains(kind) { message.options.append(.serverIdentifier, lease.server) }
        message.options.append(.association, association(of: lease.addresses.map(\.address)))
        if [.request, .renew, .rebind].contains(kind) { appendWishes(DHCPv6Option.requested, to: &message) }
        return .send(message.bytes)
    }

    mutating func decline(_ address: IPAddress, of lease: IPv6Lease, _ exchange: Exchange, at now: Instant) -> Effect {
        var message = message(.decline, exchange, at: now)
        message.options.append(.serverIdentifier, lease.server)
        message.options.append(.association, association(of: [address]))
        return .send(message.bytes)
    }

    mutating func informationRequest(_ exchange: Exchange, at now: Instant) -> Effect {
        var message = message(.informationRequest, exchange, at: now)
        appendWishes(DHCPv6Option.requestedAlone, to: &message)
        return .send(message.bytes)
    }

    private func message(_ kind: DHCPv6Message.Kind, _ exchange: Exchange, at now: Instant) -> DHCPv6Message {
        var message = DHCPv6Message(kind, transaction: exchange.transaction)
        if namesClient(kind) { message.options.append(.clientIdentifier, settings.device(for: hardware).device) }
        // The elapsed time has units of 10 ms.
        let elapsed = UInt16(clamping: max(0, (now - began).milliseconds / 10))
        message.options.append(.elapsedTime, elapsed.bytes)
        return message
    }

    /// Whether the message names the client. An anonymous INFORMATION-REQUEST does not (RFC 7844, 4.3.1).
    private func namesClient(_ kind: DHCPv6Message.Kind) -> Bool {
        kind != .informationRequest || !settings.isAnonymous
    }

    /// Returns the association's option, which leaves all times to the server (RFC 8415, 18.2.1).
    private func association(of addresses: [IPAddress]) -> [UInt8] {
        var inner = DHCPv6Options()
        for address in addresses.prefix(IPv6Lease.mostAddresses) {
            inner.append(.address, address.bytes + [UInt8](repeating: 0, count: 8))
        }
        let number = settings.device(for: hardware).association
        return number.bytes + [UInt8](repeating: 0, count: 8) + inner.bytes
    }

    private mutating func appendWishes(_ wishes: [DHCPv6Option], to message: inout DHCPv6Message) {
        // A random order does not identify the program (RFC 7844, 4.4).
        let list = settings.isAnonymous ? wishes.shuffled(using: &random) : wishes
        message.options.append(.wishes, list.flatMap(\.rawValue.bytes))
    }

    // MARK: Answers

    mutating func received(_ bytes: [UInt8], _ checksum: ChecksumState, at now: Instant) -> [Effect] {
        guard state != .idle else { return [] }
        let message: DHCPv6Message
        do {
            let datagram = try IPv6Datagram(reading: bytes, checksum: checksum)
            message = try DHCPv6Message(reading: datagram.payload)
        } catch let error as UDPDatagramError {
            return error == .notForUs ? [] : report(.badPacket(error))
        } catch let error as DHCPv6MessageError {
            return report(.unreadable(error))
        } catch { return [] }
        switch message.kind {
        case .advertise, .reply: break
        case .reconfigure: return report(.reconfigure)
        default: return []
        }
        // Quick retransmissions cause duplicate answers. Without a pending exchange, they are not reported.
        guard let (kind, exchange) = pending else { return [] }
        let client = message.options[.clientIdentifier]
        guard client == settings.device(for: hardware).device || client == nil && !namesClient(kind) else {
            return report(.otherClient)
        }
        guard message.transaction == exchange.transaction else { return report(.otherTransaction) }
        guard let server = message.options[.serverIdentifier], IPv6Lease.serverLengths.contains(server.count) else {
            return report(.otherServer)
        }
        recordWaits(message.options)
        return handleAnswer(message, from: server, exchange, at: now)
    }

    private mutating func handleAnswer(
        _ message: DHCPv6Message, from server: [UInt8], _ exchange: Exchange, at now: Instant
    ) -> [Effect] {
        switch (state, message.kind) {
        case (.soliciting, .advertise): return offered(message, exchange, at: now)
        case (.soliciting, .reply) where message.options[.rapidCommit] != nil:
            return acknowledged(message, exchange, at: now) { client, error in client.report(.refused(error)) }
        case (.requesting(let offer, _), .reply):
            guard offer.server == server else { return report(.otherServer) }
            return acknowledged(message, exchange, at: now) { client, error in
                // The failure may be temporary (RFC 8415, 18.2.10.1).
                let isPassing = [.status(.unspecifiedFailure), .status(.useMulticast)].contains(error)
                return client.report(.refused(error)) + (isPassing ? [] : client.restart(at: now))
            }
        case (.confirming(let lease, _), .reply):
            return confirmed(message, at: now) { client in client.bind(lease, at: now) }
        case (.bound(let binding), .reply): return handleAnswer(message, from: server, about: binding, at: now)
        case (.declining, .reply): return pauseAfterConflict(at: now)
        case (.informing, .reply):
            guard message.options.status == .success else { return report(.refused(.status(message.options.status))) }
            let (configuration, flaws) = NetworkConfiguration.read(message.options)
            return informed(configuration, refresh: refresh(message.options), at: now) + report(flaws)
        default: return []
        }
    }

    private mutating func offered(_ message: DHCPv6Message, _ exchange: Exchange, at now: Instant) -> [Effect] {
        do throws(IPv6LeaseError) {
            let (lease, flaws) = try read(message, exchange)
            return request(lease, at: now) + report(flaws)
        } catch {
            return report(.refused(error))
        }
    }

    private mutating func acknowledged(
        _ message: DHCPv6Message, _ exchange: Exchange, at now: Instant,
        otherwise: (inout DHCPv6Client, IPv6LeaseError) -> [Effect]
    ) -> [Effect] {
        do throws(IPv6LeaseError) {
            let (lease, flaws) = try read(message, exchange)
            return bind(lease, at: now) + report(flaws)
        } catch {
            return otherwise(&self, error)
        }
    }

    /// Uses the addresses if they match the link (RFC 8415, 18.2.10.3), else starts over.
    private mutating func confirmed(
        _ message: DHCPv6Message, at now: Instant, then use: (inout DHCPv6Client) -> [Effect]
    ) -> [Effect] {
        switch message.options.status {
        case .success: return use(&self)
        case .notOnLink: return report(.takenBack(.notOnLink)) + restart(at: now)
        case let other: return report(.refused(.status(other)))
        }
    }

    private mutating func handleAnswer(
        _ message: DHCPv6Message, from server: [UInt8], about binding: Binding, at now: Instant
    ) -> [Effect] {
        guard case .asking(let kind, let exchange) = binding.phase else { return [] }
        var lease = binding.lease
        guard kind != .confirm else {
            guard message.options.status != .notOnLink else {
                return report(.takenBack(.notOnLink)) + drop(lease, .takenBack, at: now)
            }
            return confirmed(message, at: now) { client in
                client.state = .bound(Binding(lease: lease, phase: .quiet))
                return []
            }
        }
        guard kind == .rebind || server == lease.server else { return report(.otherServer) }
        return acknowledged(message, exchange, at: now) { client, error in
            switch error {
            case .status(.noBinding) where kind != .request:
                lease.server = server
                return client.requestAgain(lease, at: now)
            case .status(.noBinding), .status(.noAddressAvailable), .status(.notOnLink):
                guard case .status(let status) = error else { return [] }
                return client.report(.takenBack(status)) + client.drop(lease, .takenBack, at: now)
            case .noAddress:
                return client.report(.refused(error)) + client.drop(lease, .takenBack, at: now)
            default: return client.report(.refused(error))
            }
        }
    }

    private func read(
        _ message: DHCPv6Message, _ exchange: Exchange
    ) throws(IPv6LeaseError) -> (IPv6Lease, [IPv6LeaseFlaw]) {
        try IPv6Lease.read(
            message, association: settings.device(for: hardware).association, hardware: hardware, from: exchange.began)
    }

    private mutating func report(_ flaws: [IPv6LeaseFlaw]) -> [Effect] { flaws.flatMap { report(.flaw($0)) } }

    private var pending: (DHCPv6Message.Kind, Exchange)? {
        switch state {
        case .soliciting(let exchange): (.solicit, exchange)
        case .requesting(_, let exchange): (.request, exchange)
        case .confirming(_, let exchange): (.confirm, exchange)
        case .declining(_, _, let exchange): (.decline, exchange)
        case .informing(let exchange): (.informationRequest, exchange)
        case .bound(let binding):
            if case .asking(let kind, let exchange) = binding.phase { (kind, exchange) } else { nil }
        case .idle, .pausing, .informed: nil
        }
    }

    private mutating func recordWaits(_ options: DHCPv6Options) {
        func wait(_ option: DHCPv6Option) -> Duration? {
            guard let seconds = options[option].flatMap({ UInt32(bytes: $0) }),
                DHCPv6Timing.longestWaits.contains(seconds)
            else { return nil }
            return .seconds(seconds)
        }
        longestSolicitWait = wait(.longestSolicitWait) ?? longestSolicitWait
        longestInformationWait = wait(.longestInformationWait) ?? longestInformationWait
    }

    private func refresh(_ options: DHCPv6Options) -> Duration {
        let said = options[.refreshTime].flatMap { UInt32(bytes: $0) } ?? DHCPv6Timing.refresh
        let range = DHCPv6Timing.refreshes
        return .seconds(min(max(said, range.lowerBound), range.upperBound))
    }
}
