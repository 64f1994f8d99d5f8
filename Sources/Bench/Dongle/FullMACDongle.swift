import AgentModel
import CLinux
import Glibc
import Linux
import Synchronization

/// A USB Wi-Fi dongle of the kind that has its own firmware, as a program: the kernel's unmodified driver (brcmfmac) finds
/// it at the virtual host controller (vhci_hcd), and what the driver asks is carried out by a hidden simulated radio.
///
/// One thread answers the driver at once, from what `Firmware` knows. A second one works the hidden station, which may
/// have to wait for locks that the driver's callers hold.
public final class FullMACDongle: Sendable {
    private let core: Core
    private let threads: Mutex<[pthread_t]>

    /// Plugs a dongle in. The modules vhci_hcd, brcmfmac and mac80211_hwsim are loaded.
    /// - Parameters:
    ///   - interface: the hidden station's, which is up, in the network namespace of the calling thread.
    ///   - log: a file that what the firmware does is added to.
    /// - Throws: `DongleError` where the interface is not there, or the kernel refuses.
    public init(over interface: String, log: String) throws(DongleError) {
        let log = DongleLog(log)
        let frames = try FrameSocket(interface: interface)
        let station = try HiddenStation(interface: interface, frames: frames, log: log)
        core = Core(
            firmware: Firmware(address: station.address), frames: frames, port: try USBPort(), log: log)
        let air = Air(core: core, station: station)
        threads = Mutex([
            QuietThread.start("dongle.usb") { [core] in core.serveDriver() },
            QuietThread.start("dongle.air") { air.run() },
        ])
    }

    deinit { unplug() }

    /// Takes it away, as its plug is pulled or its firmware dies: nothing is said in the air. For good.
    public func unplug() {
        core.end()
        for thread in threads.withLock({ threads in
            defer { threads = [] }
            return threads
        }) { pthread_join(thread, nil) }
    }

    /// What goes wrong with it, from now on.
    public var faults: RadioFaults {
        get { core.faults }
        set { core.faults = newValue }
    }
}

/// What both threads have to do with.
private final class Core: Sendable {
    private let firmware: Mutex<Firmware>
    private let orders = Mutex(Orders())
    private let frames: FrameSocket
    private let port: USBPort
    private let log: DongleLog
    let wakeup = Wakeup()

    private struct Orders {
        var waiting: [AirOrder] = []
        /// One has been taken and is not carried out yet.
        var isBusy = false
        var hasEnded = false
    }

    init(firmware: consuming Firmware, frames: FrameSocket, port: USBPort, log: DongleLog) {
        self.firmware = Mutex(firmware)
        self.frames = frames
        self.port = port
        self.log = log
    }

    func end() {
        port.unplug()
        orders.withLock { $0.hasEnded = true }
        wakeup.ring()
    }

    var faults: RadioFaults {
        get { firmware.withLock { $0.faults } }
        set {
            firmware.withLock { $0.faults = newValue }
            log.note("faults: \(newValue)")
            wakeup.ring()
        }
    }

    // MARK: The driver's thread

    func serveDriver() {
        var response: [UInt8] = []
        while let (request, data) = port.receive() {
            switch request {
            case .unlink(let sequence, let victim): port.unlink(sequence: sequence, victim: victim)
            case .submit(let urb) where urb.endpoint == 0: control(urb, data, &response)
            case .submit(let urb) where urb.isToHost: port.post(urb)
            case .submit(let urb):
                if let (interface, frame) = FrameHeader.frame(in: data) { send(frame, by: interface) }
                port.answer(.sent(sequence: urb.sequence, count: urb.length))
            }
        }
        log.note("the plug is pulled")
    }

    private func control(_ urb: URB, _ data: ArraySlice<UInt8>, _ response: inout [UInt8]) {
        let request = ControlRequest(urb.setup)
        switch request {
        case .command where faults.hangs, .response where faults.hangs: port.ignore(urb)
        case .data(let data): port.answer(.received(sequence: urb.sequence, data))
        case .done: port.answer(.sent(sequence: urb.sequence, count: 0))
        case .unknown: port.answer(.stalled(sequence: urb.sequence))
        case .command:
            response = carryOut(data)
            port.answer(.sent(sequence: urb.sequence, count: urb.length))
        case .response: port.answer(.received(sequence: urb.sequence, Array(response.prefix(urb.length))))
        case .configure(let isOn):
            response = []
            if isOn { restart() }
            port.answer(.sent(sequence: urb.sequence, count: 0))
        }
    }

    /// A driver that finds the dongle loads its firmware.
    private func restart() {
        port.forgetFrames()
        firmware.withLock { firmware in perform(firmware.restart(), of: firmware) }
        log.note("the firmware is started")
    }

    private func carryOut(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let command = try? FirmwareCommand(bytes) else {
            log.note("a command that is not understood: \(bytes.count) bytes")
            return []
        }
        return firmware.withLock { firmware in
            let (answer, effects) = firmware.carryOut(command, at: .now)
            log.note(command, answer)
            perform(effects, of: firmware)
            return command.response(answer)
        }
    }

    /// A frame keeps its place behind the keys and joins that were ordered before.
    private func send(_ frame: ArraySlice<UInt8>, by interface: UInt8) {
        if firmware.withLock({ $0.accessPoint?.interface == interface }) {
            orders.withLock { $0.waiting.append(.accessPoint(.send(frame))) }
            return wakeup.ring()
        }
        let isNext = orders.withLock { orders in
            if orders.isBusy || !orders.waiting.isEmpty { orders.waiting.append(.send(frame)) }
            return !orders.isBusy && orders.waiting.isEmpty
        }
        if isNext { frames.send(frame) }
        // The access point sends at once what it has kept for a radio that wakes.
        firmware.withLock { $0.sends(at: .now) }
        if kept.withLock({ !$0.isEmpty }) {
            kept.withLock { kept in for place in kept.indices { kept[place].arrival = .now } }
            wakeup.ring()
        }
    }

    /// Frames that the access point keeps while the radio sleeps, and when they arrive.
    private let kept = Mutex<[(arrival: Instant, frame: [UInt8])]>([])

    /// To be called with the firmware locked, so that events and orders keep their order.
    private func perform(_ effects: [Firmware.Effect], of firmware: borrowing Firmware) {
        for effect in effects {
            switch effect {
            case .order(let order):
                orders.withLock { $0.waiting.append(order) }
                wakeup.ring()
            case .tell(let event) where firmware.isWanted(event):
                log.note(event)
                port.deliver(event.frame(from: firmware.address))
            case .tell(let event): log.note("event \(event.code): not asked for")
            }
        }
    }

    // MARK: The air's thread

    /// The next order; nil where there is none. The one before has been carried out.
    func nextOrder() -> AirOrder? {
        orders.withLock { orders in
            orders.isBusy = !orders.waiting.isEmpty
            return orders.isBusy ? orders.waiting.removeFirst() : nil
        }
    }

    var hasEnded: Bool { orders.withLock { $0.hasEnded } }
    var isLinked: Bool { firmware.withLock { $0.link != nil } }
    var nextWake: Instant? { firmware.withLock { $0.nextWake } }

    func handle(_ events: [AirEvent]) {
        guard !events.isEmpty else { return }
        firmware.withLock { firmware in
            for event in events { perform(firmware.handle(event, at: .now), of: firmware) }
        }
    }

    func tick() { firmware.withLock { firmware in perform(firmware.tick(at: .now), of: firmware) } }

    /// Delivers what the stations of the access point have sent.
    func deliverFrames(of accessPoint: FrameSocket) {
        while let frame = accessPoint.receive() {
            let interface = firmware.withLock { firmware -> UInt8? in
                if let station = frame[...].bytes(6, 6).flatMap({ BSSID(bytes: $0) }) {
                    firmware.hears(station, at: .now)
                }
                return firmware.accessPoint?.interface
            }
            if let interface { port.deliver(frame, from: interface) }
        }
    }

    /// Delivers what has come, in order, as far as the radio is awake.
    func deliverFrames() {
        while let frame = frames.receive() {
            let arrival = firmware.withLock { $0.arrival(at: .now) }
            kept.withLock { $0.append((arrival, frame)) }
        }
        let due = kept.withLock { kept in
            let due = kept.prefix { $0.arrival <= .now }
            kept.removeFirst(due.count)
            return due
        }
        for entry in due { port.deliver(entry.frame) }
    }

    var nextArrival: Instant? { kept.withLock { $0.first?.arrival } }

    var frameDescriptor: Int32 { frames.descriptor }
}

/// The thread of the hidden station.
private final class Air: @unchecked Sendable {  // Made on one thread, then used on another one only.
    private let core: Core
    private let station: HiddenStation
    private var nextMeasure = Instant.now

    /// Beacons come every 102 ms, so a beacon's loss is known as well as they are.
    private static let measureInterval = Duration.milliseconds(100)

    init(core: Core, station: HiddenStation) {
        self.core = core
        self.station = station
    }

    func run() {
        while !core.hasEnded {
            core.handle(station.readNews())
            while let order = core.nextOrder() { core.handle(station.carryOut(order)) }
            core.deliverFrames()
            if let accessPoint = station.accessPoint { core.deliverFrames(of: accessPoint.frames) }
            if core.isLinked, nextMeasure <= .now {
                nextMeasure = .now + Self.measureInterval
                core.handle(station.measure().map { [$0] } ?? [])
            }
            core.handle(station.tick())
            core.tick()
            wait()
        }
    }

    private func wait() {
        let wakes = [core.nextWake, station.nextWake, core.nextArrival, core.isLinked ? nextMeasure : nil].compactMap(
            \.self)
        let limit = wakes.min().map { max($0 - .now, .zero) }
        let accessPoint = station.accessPoint.map { [$0.requestDescriptor, $0.frames.descriptor] } ?? []
        let descriptors = [core.wakeup.descriptor, station.newsDescriptor, core.frameDescriptor] + accessPoint
        let isReady = Readiness.wait(for: descriptors.map { ($0, .readable) }, within: limit)
        if isReady[0] { core.wakeup.silence() }
    }
}
