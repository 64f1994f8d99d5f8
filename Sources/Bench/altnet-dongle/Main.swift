import Dongle
import Glibc

/// Attaches a simulated dongle to this kernel's brcmfmac until SIGTERM. It is for the virtual board, where the lab does
/// not run.
///
/// The program needs the modules vhci_hcd and brcmfmac. INTERFACE is the interface of a mac80211_hwsim radio. It must
/// be up, in the network namespace of the process.
///
///     ip netns exec firmware altnet-dongle INTERFACE [LOG]
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let interface = arguments.first, arguments.count <= 2 else {
            print("usage: altnet-dongle INTERFACE [LOG]")
            exit(64)
        }
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let dongle: FullMACDongle
        do throws(DongleError) {
            dongle = try FullMACDongle(over: interface, log: arguments.dropFirst().first ?? "/dev/null")
        } catch {
            print("altnet-dongle: \(error)")
            exit(1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        dongle.unplug()
    }
}
