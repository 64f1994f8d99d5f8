// Asks an altnet device in the network from coroutines, with the classes of ../java and kotlinx-coroutines-core 1.7.
//
// NOT COMPILED: no test of this project has a compiler for Kotlin.
import java.util.concurrent.Executors
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withTimeout

/**
 * A session with a device. A call ends after its limit with a TimeoutCancellationException, or when its coroutine is
 * cancelled. Both close the connection: open another one then.
 */
class Device private constructor(private val client: Client) : AutoCloseable {
    /** Returns the body of the answer. */
    suspend fun ask(type: String, body: Map<String, Any?> = emptyMap(), limit: Duration = 30.seconds): Map<*, *> =
        blocking(limit, onCancel = client::close) { client.ask(type, body) }

    /** Like [ask], for a request with Wi-Fi passwords. */
    suspend fun askSealed(type: String, body: Map<String, Any?>, limit: Duration = 30.seconds): Map<*, *> =
        blocking(limit, onCancel = client::close) { client.askSealed(type, body) }

    override fun close() = client.close()

    companion object {
        private val threads = Executors.newCachedThreadPool { work -> Thread(work).apply { isDaemon = true } }

        /** Connects to the device. Throws Client.DeviceException, such as `certificateChanged` and `notTheDevice`. */
        suspend fun open(host: String, port: Int, pairingCode: String, limit: Duration = 30.seconds): Device =
            Device(blocking(limit, late = Client::close) { Client(host, port, Pairing.read(pairingCode)) })

        /**
         * Runs [work] in a separate thread, because sockets block. [onCancel] has to end it, and [late] gets a result
         * that comes after the end of the wait.
         */
        @OptIn(ExperimentalCoroutinesApi::class)
        private suspend fun <T> blocking(
            limit: Duration, onCancel: () -> Unit = {}, late: (T) -> Unit = {}, work: () -> T
        ): T = withTimeout(limit) {
            suspendCancellableCoroutine { continuation ->
                continuation.invokeOnCancellation { onCancel() }
                threads.execute {
                    try {
                        val result = work()
                        continuation.resume(result) { late(result) }
                    } catch (error: Exception) {
                        continuation.resumeWithException(error)
                    }
                }
            }
        }
    }
}
