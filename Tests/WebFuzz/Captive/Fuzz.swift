import AgentModel
import OnlineValidation

/// SwiftPM calls the start of a program by its module's name; libFuzzer has one of its own, which is called from here.
@_cdecl("captive_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, fuzz)
}

/// llvm/compiler-rt/lib/fuzzer/FuzzerInterface.h
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// What libFuzzer calls with each of its inputs: what a network says of itself (RFC 8908).
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let json = Array(UnsafeBufferPointer(start: start, count: count))
    do {
        let state = try CaptiveState(json: json)
        precondition([state.secondsRemaining, state.bytesRemaining].allSatisfy { $0 ?? 0 >= 0 })
        precondition(state.userPortal?.scheme != .http)
        check(state)
    } catch {
        // What the network sent is not repeated, for it ends up in logs.
        precondition(error.description.utf8.count < 120)
    }
    return 0
}

/// Whatever it says, it is asked again in time and not all the time, and a verdict comes of it.
private func check(_ state: CaptiveState) {
    for now in [0, 1 << 40] {
        let asked = Instant(milliseconds: Int64(now))
        let schedule = CaptiveSchedule(after: state, asked: asked)
        precondition(schedule.next >= asked + CaptiveSchedule.shortestInterval)
        precondition(schedule.next <= asked + CaptiveSchedule.longestInterval)
        precondition(schedule.end.map { $0 >= asked } ?? true)
    }
    let verdict = OnlineVerdict(finding: .online, state: state)
    precondition(verdict.internet == .yes && verdict.portal == state.userPortal?.description)
}
