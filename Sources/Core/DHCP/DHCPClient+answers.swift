import AgentModel

extension DHCPClient {
    // MARK: DHCP

    mutating func received(_ bytes: [UInt8], _ checksum: ChecksumState, at now: Instant) -> [Effect] {
        guard state != .idle else { return [] }
        var message: DHCPMessage
        do {
            let datagram = try UDPDatagram(reading: bytes, checksum: checksum)
            message = try DHCPMessage(reading: datagram.payload)
            message.sender = datagram.source
        } catch let error as UDPDatagramError {
            return error == .notForUs ? [] : report(.badPacket(error))
        } catch let error as DHCPMessageError {
            return report(.unreadable(error))
        } catch { return [] }
        // Packets for other clients arrive too.
        guard message.operation == .reply, message.hardware == hardware else { return [] }
        if let identifier = message.options[.clientIdentifier], identifier != settings.identifier(for: hardware) {
            return report(.otherClient)
        }
        switch message.kind {
        case .offer, .ack, .nak: return handleAnswer(message, at: now)
        case .forceRenew: return report(.forceRenew)
        case .discover, .request, .decline, .release, .inform: return []
        }
    }

    private mutating func handleAnswer(_ message: DHCPMessage, at now: Instant) -> [Effect] {
        // Quick retransmissions cause duplicate answers. Without a pending exchange, they are not reported.
        guard let exchange = pending else { return [] }
        guard message.transaction == exchange.transaction else { return report(.otherTransaction) }
        let server = message.server
        switch (state, message.kind) {
        case (.selecting, .offer): return offered(message, exchange, at: now)
        case (.selecting, .ack) where message.options[.rapidCommit] != nil:
            return committed(message, exchange, at: now)

        case (.rebooting(let reboot), .ack):
            return acknowledged(message, reboot.exchange, reboot.lease, reboot.conflict, at: now)
                ?? refused(message, exchange.began)
        case (.rebooting(var reboot), .nak):
            let isOwn = server == reboot.lease.server
            let refusal = refusal(message, by: server, within: isOwn ? .zero : DHCPTiming.refusalWait, at: now)
            // Only the first NAK counts, so repeated NAKs do not extend the wait.
            guard !isOwn, exchange.refusal == nil else { return isOwn ? refused(by: refusal, at: now) : [] }
            reboot.exchange.refusal = refusal
            state = .rebooting(reboot)
            return []

        // Accepts answers only from the server of the offer. A second, independent server refuses that offer.
        case (.requesting(let request), .ack) where server == request.offer.server:
            return acknowledged(message, exchange, request.offer, request.conflict, at: now)
                ?? refused(message, exchange.began) + restart(without: server, at: now)
        case (.requesting(let request), .nak) where server == request.offer.server:
            hint = nil
            return report(.nak(server: server, text: text(message))) + restart(without: server, at: now)
        case (.requesting, .ack), (.requesting, .nak): return report(.otherServer(server))

        case (.bound(let binding), .offer):
            guard case .discovering = binding.phase else { return [] }
            return offered(message, exchange, at: now)
        case (.bound(let binding), .ack): return acknowledged(message, exchange, by: server, binding, at: now)
        case (.bound(var binding), .nak):
            switch binding.phase {
            case .discovering: return []
            case .requesting(let request):
                guard server == request.offer.server else { return report(.otherServer(server)) }
                binding.phase = .quiet
                state = .bound(binding)
                return report(.nak(server: server, text: text(message)))
            case .quiet, .confirming, .renewing, .rebinding: break
            }
            let isOwn = server == binding.lease.server
            if case .renewing = binding.phase, !isOwn { return report(.otherServer(server)) }
            let wait = isOwn ? .zero : DHCPTiming.refusalWaitInUse
            let refusal = refusal(message, by: server, within: wait, at: now)
            guard !isOwn, exchange.refusal == nil else { return isOwn ? refused(by: refusal, at: now) : [] }
            binding.phase.exchange?.refusal = refusal
            state = .bound(binding)
            return []
        default: return []
        }
    }

    private var pending: Exchange? {
        switch state {
        case .idle, .pausing, .checking: return nil
        case .selecting(let exchange): return exchange
        case .rebooting(let reboot): return reboot.exchange
        case .requesting(let request): return request.exchange
        case .bound(let binding):
            return binding.phase.exchange
        }
    }

    private mutating func offered(_ message: DHCPMessage, _ exchange: Exchange, at now: Instant) -> [Effect] {
        guard let offer = read(message, now) else { return refused(message, now) }
        guard isWelcome(offer, exchange) else { return [] }
        return request(offer, seconds: seconds(at: exchange.began), transaction: exchange.transaction, at: now)
    }

    /// Handles the ACK for a DISCOVER (RFC 4039).
    private mutating func committed(_ message: DHCPMessage, _ exchange: Exchange, at now: Instant) -> [Effect] {
        guard let lease = read(message, exchange.began) else { return refused(message, exchange.began) }
        guard isWelcome(lease, exchange) else { return [] }
        return bind(lease, ConflictDetection(of: lease.address, at: now), at: now) + flaws(message)
    }

    /// Returns true for any offer after the quick retransmissions; before, only if neither its server nor its address
    /// has failed.
    private func isWelcome(_ offer: Lease, _ exchange: Exchange) -> Bool {
        !shunned.contains(offer.server) && !conflicting.contains(offer.address)
            || exchange.sent >= DHCPTiming.quickCount
    }

    /// Handles the ACK for a remembered or an offered address. Returns nil if the lease is invalid.
    private mutating func acknowledged(
        _ message: DHCPMessage, _ exchange: Exchange, _ asked: Lease, _ conflict: ConflictDetection, at now: Instant
    ) -> [Effect]? {
        guard let lease = read(message, exchange.began) else { return nil }
        guard lease.address == asked.address else { return report(.otherAddress(lease.address)) }
        return contradicted(exchange) + bind(lease, conflict, at: now) + flaws(message)
    }

    /// Reports a NAK from another server that the ACK has overruled.
    private mutating func contradicted(_ exchange: Exchange) -> [Effect] {
        exchange.refusal.map { report(.strangersNAK(server: $0.server)) } ?? []
    }

    /// Handles the ACK for an address in use. An invalid ACK leaves the lease unchanged.
    private mutating func acknowledged(
        _ message: DHCPMessage, _ exchange: Exchange, by server: IPv4Address?, _ binding: Binding, at now: Instant
    ) -> [Effect] {
        switch binding.phase {
        case .renewing where server != binding.lease.server: return report(.otherServer(server))
        case .discovering: return message.options[.rapidCommit] == nil ? [] : committed(message, exchange, at: now)
        case .requesting(let request):
            guard server == request.offer.server else { return report(.otherServer(server)) }
            let conflict = ConflictDetection(of: request.offer.address, at: now)
            return acknowledged(message, exchange, request.offer, conflict, at: now)
                ?? refused(message, exchange.began)
        case .quiet, .confirming, .renewing, .rebinding: break
        }
        guard var lease = read(message, exchange.began) else { return refused(message, exchange.began) }
        guard lease.address == binding.lease.address else { return report(.otherAddress(lease.address)) }
        var binding = binding
        if lease.gateway == binding.lease.gateway {
            lease.gatewayHardware = binding.lease.gatewayHardware
        } else {
            binding.gateway = GatewayCheck(of: lease, from: hardware, isKnown: false, at: now)
        }
        (binding.lease, binding.phase, binding.doubt) = (lease, .quiet, nil)
        state = .bound(binding)
        return contradicted(exchange) + [.use(lease, isConfirmed: true), .remember(lease)] + flaws(message)
    }

    private func refusal(
        _ message: DHCPMessage, by server: IPv4Address?, within wait: Duration, at now: Instant
    ) -> Exchange.Refusal {
        Exchange.Refusal(server: server, text: text(message), end: now + wait)
    }

    /// Gives up the remembered or current address after a NAK.
    mutating func refused(by refusal: Exchange.Refusal, at now: Instant) -> [Effect] {
        hint = nil
        let end: Effect = lease.map { .drop($0, .nak) } ?? .clear
        if lease != nil { began = now }
        return [end, .forget] + report(.nak(server: refusal.server, text: refusal.text)) + restart(at: now)
    }

    private func text(_ message: DHCPMessage) -> String {
        String(printable: message.options[.text]?.prefix(64) ?? [])
    }

    // MARK: Leases

    /// - Returns: nil if the message contains no valid lease.
    private mutating func read(_ message: DHCPMessage, _ begin: Instant) -> Lease? {
        guard var lease = try? Lease.read(message, from: begin).lease else { return nil }
        // Spreads renewals of devices that started together (RFC 2131, 4.4.5).
        let time = (lease.renewal - begin).milliseconds
        lease.renewal = lease.renewal - .milliseconds(Int64.random(in: 0...(time / 20), using: &random))
        return lease
    }

    /// Reports why the message contains no valid lease.
    private mutating func refused(_ message: DHCPMessage, _ begin: Instant) -> [Effect] {
        do throws(LeaseError) { _ = try Lease.read(message, from: begin) } catch { return report(.refused(error)) }
        return []
    }

    private mutating func flaws(_ message: DHCPMessage) -> [Effect] {
        guard let flaws = try? Lease.read(message, from: began).flaws else { return [] }
        return flaws.flatMap { report(.flaw($0)) }
    }

    // MARK: ARP

    mutating func heard(_ bytes: [UInt8], at now: Instant) -> [Effect] {
        guard let message = try? ARPMessage(reading: bytes), message.senderHardware != hardware,
            !siblings.contains(message.senderHardware)
        else { return [] }
        switch state {
        case .idle, .pausing, .selecting: return []
        case .rebooting(var reboot):
            switch reboot.gateway?.heard(message) {
            case .same where reboot.isDated && !reboot.isOver(at: now):
                var exchange = reboot.exchange
                exchange.refusal?.end = now + DHCPTiming.refusalWaitInUse
                return bind(reboot.lease, reboot.conflict, phase: .confirming(exchange), at: now)
            case .other(let other):
                hint = nil
                return [.clear] + report(.otherGateway(other)) + select(at: now)
            case .same, .found, nil: break
            }
            let findings = reboot.conflict.heard(message, at: now, isInUse: false, from: hardware)
            state = .rebooting(reboot)
            return perform(findings, about: reboot.lease, at: now)
        case .requesting(var request):
            let findings = request.conflict.heard(message, at: now, isInUse: false, from: hardware)
            state = .requesting(request)
            return perform(findings, about: request.offer, at: now)
        case .checking(let lease, var conflict, let isConfirmed):
            let findings = conflict.heard(message, at: now, isInUse: false, from: hardware)
            state = .checking(lease, conflict, isConfirmed: isConfirmed)
            return perform(findings, about: lease, at: now)
        case .bound(var binding):
            var effects: [Effect] = []
            let finding = binding.gateway?.heard(message)
            switch finding {
            case .found(let found):
                (binding.lease.gatewayHardware, binding.gateway) = (found, nil)
                effects = [.remember(binding.lease)]
            case .other(let other) where binding.doubt != nil:
                effects = report(.otherGateway(other)) + discover(&binding, at: now)
            case .same, .other, nil: break
            }
            if finding != nil, binding.doubt == .roamed { binding.doubt = nil }
            let findings = binding.conflict.heard(message, at: now, isInUse: true, from: hardware)
            state = .bound(binding)
            return effects + perform(findings, about: binding.lease, at: now)
        }
    }

    mutating func perform(
        _ findings: [ConflictDetection.Finding], about lease: Lease, at now: Instant
    ) -> [Effect] {
        findings.flatMap { finding -> [Effect] in
            switch finding {
            case .send(let message): return [.sendARP(message, to: .broadcast)]
            case .conflict(let claimant): return declined(lease, claimant: claimant, at: now)
            case .claimed(let claimant): return report(.claimed(lease.address, claimant))
            case .answersForAll(let liar):
                guard case .checking(let lease, let conflict, let isConfirmed) = state, !conflict.isInDoubt else {
                    return report(.answersForAll(liar))
                }
                return report(.answersForAll(liar)) + checked(lease, conflict, isConfirmed: isConfirmed, at: now)
            }
        }
    }
}
