import AgentModel
import CLinux
import Glibc
import Linux
import Synchronization

/// A simulated USB Wi-Fi dongle with its own firmware. The kernel's unmodified driver (brcmfmac) finds it at the
/// virtual host controller (vhci_hcd). A hidden simulated radio carries out the driver's commands.
///
/// One thread answers the driver at once from the state of `Firmware`. A second thread operates the hidden station and
/// may wait for locks that the driver's callers hold.
public final class FullMACDongle: Sendable {
    private let core: Core
    private let threads: Mutex<[pthread_t]>

    /// Plugs a dongle in. Needs the modules vhci_hcd, brcmfmac and mac80211_hwsim.
    /// - Parameters:
    ///   - interface: interface of the hidden station, which is up in the calling thread's network namespace.
    ///   - log: path of the firmware's log.
    /// - Throws: `DongleError` if the interface is missing or the kernel refuses.
    public init(over interface: String, log: String) throws(DongleError) {
        let log = DongleLog(log)
        let frames = try FrameSocket(interface: interface)
        let station = try HwsimStation(interface: interface, frames: frames, log: log)
        core = Core(
            firmware: Firmware(address: station.address), frames: frames, port: try USBPort(), log: log)
        let air = Air(core: core, station: station)
        threads = Mutex([
            QuietThread.start("dongle.usb") { [core] in core.serveDriver() },
            QuietThread.start("dongle.air") { air.run() },
        ])
    }

    deinit { unplug() }

    /// Unplugs the dongle for good. The dongle sends no further frame.
    public func unplug() {
        core.end()
        for thread in threads.withLock({ threads in
            defer { threads = [] }
            return threads
        }) { pthread_join(thread, nil) }
    }

    public var faults: RadioFaults {
        get { core.faults }
        set { core.faults = newValue }
    }
}

private final class Core: Sendable {
    private let firmware: Mutex<Firmware>
    private let orders = Mutex(Orders())
    private let frames: FrameSocket
    private let port: USBPort
    private let log: DongleLog
    let wakeup = Wakeup()

    private struct Orders {
        var waiting: [AirOrder] = []
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
            log.log("faults: \(newValue)")
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
        log.log("the dongle is unplugged")
    }

    private func control(_ urb: URB, _ data: ArraySlice<UInt8>, _ response: inout [UInt8]) {
        let request = ControlRequest(urb.setup)
        switch request {
        case .command where faults.hangs, .response where faults.hangs: port.ignore(urb)
        case .data(let data): port.answer(.received(sequence: urb.sequence, data))
        case .done: port.answer(.sent(sequence: urb.sequence, count: 0))
        case .unknown: port.answer(.stalled(sequence: urb.sequence))
        case .command:
            response = perform(data)
            port.answer(.sent(sequence: urb.sequence, count: urb.length))
        case .response: port.answer(.received(sequence: urb.sequence, Array(response.prefix(urb.length))))
        case .configure(let isOn):
            response = []
            if isOn { restart() }
            port.answer(.sent(sequence: urb.sequence, count: 0))
        }
    }

    /// Restarts the firmware. The driver loads it when it finds the dongle.
    private func restart() {
        port.forgetFrames()
        firmware.withLock { firmware in perform(firmware.restart(), of: firmware) }
        log.log("the firmware has restarted")
    }

    private func perform(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let command = try? FirmwareCommand(bytes) else {
            log.log("unknown command of \(bytes.count) bytes")
            return []
        }
        return firmware.withLock { firmware in
            let (answer, effects) = firmware.perform(command, at: .now)
            log.log(command, answer)
            perform(effects, of: firmware)
            return command.response(answer)
        }
    }

    /// Sends a frame. Keys and joins that were ordered earlier are carried out first.
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
        // The radio is awake now, so the access point sends all buffered frames at once.
        firmware.withLock { $0.sends(at: .now) }
        if kept.withLock({ !$0.isEmpty }) {
            kept.withLock { kept in for place in kept.indices { kept[place].arrival = .now } }
            wakeup.ring()
        }
    }

    /// Frames that the access point buffers while the radio sleeps, with the times at which they arrive.
    private let kept = Mutex<[(arrival: Instant, frame: [UInt8])]>([])

    /// Performs effects. Lock the firmware during the call, so that events and orders keep their order.
    private func perform(_ effects: [Firmware.Effect], of firmware: borrowing Firmware) {
        for effect in effects {
            switch effect {
            case .order(let order):
                orders.withLock { $0.waiting.append(order) }
                wakeup.ring()
            case .event(let event) where firmware.isWanted(event):
                log.log(event)
                port.deliver(event.frame(from: firmware.address))
            case .event(let event): log.log("event \(event.code): not requested by the driver")
            }
        }
    }

    // MARK: The radio's thread

    /// Returns the next order; nil if there is none. Marks the previous order as done.
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

    /// Delivers received frames in order. Frames that arrive during sleep wait until the radio is awake.
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

private final class Air: @unchecked Sendable {  // One thread creates it, one other thread uses it.
    private let core: Core
    private let station: HwsimStation
    private var nextMeasure = Instant.now

    /// Interval of measurements. It is shorter than the beacon interval of 102 ms.
    private static let measureInterval = Duration.milliseconds(100)

    init(core: Core, station: HwsimStation) {
        self.core = core
        self.station = station
    }

    func run() {
        while !core.hasEnded {
            core.handle(station.readNews())
            while let order = core.nextOrder() { core.handle(station.perform(order)) }
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
